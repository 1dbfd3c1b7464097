"""The figures of the five papers: each is one function of one file, and one row below."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from malleable.papers.figure import Figure

__all__ = ["FIGURES", "Experiment", "reproduce"]


class Experiment(NamedTuple):
    """What runs a figure, and what it shows.

    Attributes
    ----------
    place : str
        ``file.function`` of this package, imported when the figure is asked for: takes a `Run` and the
        ``arguments``, gives a `Figure`.
    arguments : tuple
    usual, quick : int
        So many simulations a point, or jobs.
    shows : str
    unit : str
        ``simulation`` or ``job``: what is counted.
    trace : bool
        Whether it takes jobs of a trace.
    """

    place: str
    arguments: tuple[Any, ...]
    usual: int
    quick: int
    shows: str
    unit: str = "simulation"
    trace: bool = False


FIGURES = {
    "flex-fig5": Experiment(
        "flex.figure5", (), 100, 10, "FIFO, FAIR, FLEX by slack, sizes, metrics"
    ),
    "flex-fig6": Experiment("flex.figure6", (), 10, 3, "FLEX and FAIR on the paper's cluster"),
    "flowflex-fig10": Experiment("flowflex.bounds", ("sum",), 25, 5, "sums over flows, best bound"),
    "flowflex-fig11": Experiment(
        "flowflex.bounds", ("max",), 25, 5, "maxima over flows, best bound"
    ),
    "flowflex-fig12": Experiment("flowflex.figure12", (), 10, 3, "flows on a cluster"),
    "overlap-fig7": Experiment(
        "overlap.figure7", (), 30_000, 5_000, "ratio to the bound by load", "job", True
    ),
    "overlap-fig9": Experiment(
        "overlap.figure9", (), 10_000_000, 500_000, "mean slowdown by size", "job"
    ),
    **{
        f"asrpt-fig{number}": Experiment(
            "asrpt.figure", (kind, setting), 200, 20, f"{kind}, {setting}"
        )
        for number, kind, setting in (
            (5, "ratio", "exp-large"),
            (6, "ratio", "exp-small"),
            (7, "ratio", "uniform-large"),
            (8, "ratio", "uniform-small"),
            (9, "convergence", "uniform-small"),
            (10, "distribution", "exp-large"),
            (11, "distribution", "exp-small"),
            (12, "distribution", "uniform-large"),
            (13, "distribution", "uniform-small"),
        )
    },
    **{
        f"adaptive-{name}": Experiment("adaptive.figure", (metric, *workloads), 30, 3, shows)
        for name, metric, workloads, shows in (
            ("fig4", "dissatisfaction", (1,), "dissatisfaction of users, I/O workload"),
            ("fig5", "dissatisfaction", (2,), "dissatisfaction of users, CPU workload"),
            ("fig6", "dissatisfaction", (3,), "dissatisfaction of users, mixed workload"),
            ("fig7", "mean_response", (1,), "mean completion time, I/O workload"),
            ("fig8", "mean_response", (2,), "mean completion time, CPU workload"),
            ("fig9", "mean_response", (3,), "mean completion time, mixed workload"),
            ("table6", "user_fairness", (1, 2, 3), "distance from equal additional shares"),
            ("table7", "locality", (1, 2, 3), "map tasks that run where their block is"),
        )
    },
}
"""What ``malleable reproduce`` knows: one row a figure."""


def reproduce(
    name: str,
    count: int | None = None,
    *,
    seed: int = 0,
    quick: bool = False,
    trace: Any = None,
    executor: Any = None,
    progress: Callable[[str, int], object] = lambda label, total: None,
) -> Figure:
    """Run the experiments of a figure; Ctrl-C keeps what is finished.

    Parameters
    ----------
    name : str
        One of `FIGURES`.
    count : int, optional
        Simulations a point, or jobs; the usual number, or with ``quick`` a small one.
    seed : int
        Of the first simulation.
    quick : bool
        Without the largest experiments.
    trace : MapShuffleJobs, optional
        Jobs to take instead of generated ones.
    executor : concurrent.futures.Executor, optional
        Where replications run.
    progress : callable
        Called with (label, all steps) after each step.

    Raises
    ------
    ValueError
        Too few simulations or jobs, a negative seed, or a trace where none is taken.
    """
    from malleable.papers.figure import Run

    experiment = FIGURES[name]
    if count is None:
        count = experiment.quick if quick else experiment.usual
    least = 2 if experiment.unit == "job" else 1
    for option, value, low in ((experiment.unit + "s", count, least), ("seed", seed, 0)):
        if value < low:
            raise ValueError(f"--{option} {value}: must be at least {low}")
    if trace is not None and not experiment.trace:
        raise ValueError(f"--trace: {name} takes no trace")
    file, function = experiment.place.split(".")
    run = Run(
        name, experiment.shows, count, seed, quick, trace, executor, progress, experiment.unit
    )
    found: Figure = getattr(import_module(f"{__name__}.{file}"), function)(
        run, *experiment.arguments
    )
    return found
