"""What `malleable reproduce` can repeat: figures of the five papers that the policies come from (`flex`: Wolf
et al. 2010; `flowflex`: Nagarajan et al. 2013; `asrpt`: Zheng et al. 2013; `tandem`: Lin et al. 2013;
`adaptive`: Rasooli and Down 2011). Each figure is one function of one file of this package, and one row
below."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from malleable.papers.figure import Figure

__all__ = ["FIGURES", "Experiment", "reproduce"]


class Experiment(NamedTuple):
    """What runs a figure, and what it shows.

    ``place`` is ``file.function`` of this package: it takes a `Run` and the ``arguments``, and returns a
    `Figure`. ``usual`` and ``quick`` are numbers of simulations a point, or of jobs (``unit``). ``trace``:
    whether it takes jobs of a trace."""

    place: str
    arguments: tuple[Any, ...]
    usual: int
    quick: int
    shows: str  # a title in words
    unit: str = "simulation"
    trace: bool = False


_ASRPT = {
    "ratio": "flow time over its bound",
    "convergence": "flow time over its bound as time goes on",
    "distribution": "share of jobs by flow time",
    "exp": "exponential sizes",
    "uniform": "uniform sizes",
    "large": "large reduce phases",
    "small": "small reduce phases",
}


def _asrpt(kind: str, setting: str) -> Experiment:
    words = ", ".join(_ASRPT[word] for word in (kind, *setting.split("-")))
    return Experiment("asrpt.figure", (kind, setting), 200, 20, words)


# A figure of the paper's model: one small example, simulated once.
def _model(number: int, shows: str) -> Experiment:
    return Experiment("tandem.figure_of_model", (number,), 1, 1, shows)


def _adaptive(shows: str, metric: str, *workloads: int) -> Experiment:
    return Experiment("adaptive.figure", (metric, *workloads), 30, 3, shows)


# What ``malleable reproduce`` knows: one row a figure.
FIGURES = {
    "flex-fig5": Experiment(
        "flex.figure5", (), 100, 10, "FIFO, FAIR, FLEX by slack, sizes, metrics"
    ),
    "flex-fig6": Experiment(
        "flex_cluster.figure6", (), 10, 3, "FLEX and FAIR on the paper's cluster"
    ),
    "flowflex-fig10": Experiment("flowflex.bounds", ("sum",), 25, 5, "sums over flows, best bound"),
    "flowflex-fig11": Experiment(
        "flowflex.bounds", ("max",), 25, 5, "maxima over flows, best bound"
    ),
    "flowflex-fig12": Experiment("flowflex.figure12", (), 10, 3, "flows on a cluster"),
    "asrpt-fig5": _asrpt("ratio", "exp-large"),
    "asrpt-fig6": _asrpt("ratio", "exp-small"),
    "asrpt-fig7": _asrpt("ratio", "uniform-large"),
    "asrpt-fig8": _asrpt("ratio", "uniform-small"),
    "asrpt-fig9": _asrpt("convergence", "uniform-small"),
    "asrpt-fig10": _asrpt("distribution", "exp-large"),
    "asrpt-fig11": _asrpt("distribution", "exp-small"),
    "asrpt-fig12": _asrpt("distribution", "uniform-large"),
    "asrpt-fig13": _asrpt("distribution", "uniform-small"),
    "tandem-fig2": _model(2, "three jobs, phases that overlap"),
    "tandem-fig3": _model(3, "three jobs, one phase after the other"),
    "tandem-fig4": _model(4, "three jobs of a cluster in both models"),
    "tandem-fig7": Experiment(
        "tandem.figure7", (), 30_000, 5_000, "ratio by load", "job", trace=True
    ),
    "tandem-fig9": Experiment("tandem.figure9", (), 10**7, 500_000, "slowdown by size", "job"),
    "adaptive-fig4": _adaptive("dissatisfaction of users, I/O workload", "dissatisfaction", 1),
    "adaptive-fig5": _adaptive("dissatisfaction of users, CPU workload", "dissatisfaction", 2),
    "adaptive-fig6": _adaptive("dissatisfaction of users, mixed jobs", "dissatisfaction", 3),
    "adaptive-fig7": _adaptive("mean completion time [s], I/O workload", "mean_response", 1),
    "adaptive-fig8": _adaptive("mean completion time [s], CPU workload", "mean_response", 2),
    "adaptive-fig9": _adaptive("mean completion time [s], mixed jobs", "mean_response", 3),
    "adaptive-table6": _adaptive("distance from equal additional shares", "user_fairness", 1, 2, 3),
    "adaptive-table7": _adaptive("maps that run where their block is [%]", "locality", 1, 2, 3),
}


def reproduce(name: str, count: int | None = None, *, seed: int = 0, **options: Any) -> Figure:
    """Run the experiments of a figure of `FIGURES`; Ctrl-C keeps what is finished.

    ``count`` are simulations a point, or jobs (by default the usual number, or with ``quick`` a small one),
    ``seed`` is that of the first simulation, and other options are those of `Run`. ValueError: too few
    simulations or jobs, a negative seed, or a trace that the figure does not take."""
    from malleable.papers.figure import Run

    experiment = FIGURES[name]
    if count is None:
        count = experiment.quick if options.get("quick") else experiment.usual
    if experiment.usual == 1 and count != 1:
        raise ValueError(f"--simulations {count}: {name} is one run")
    least = 2 if experiment.unit == "job" else 1
    for option, value, low in ((experiment.unit + "s", count, least), ("seed", seed, 0)):
        if value < low:
            raise ValueError(f"--{option} {value}: must be at least {low}")
    if options.get("trace") is not None and not experiment.trace:
        raise ValueError(f"--trace: {name} takes no trace")
    file, function = experiment.place.split(".")
    run = Run(name, experiment.shows, count, seed, unit=experiment.unit, **options)
    make: Callable[..., Figure] = getattr(import_module(f"{__name__}.{file}"), function)
    return make(run, *experiment.arguments)
