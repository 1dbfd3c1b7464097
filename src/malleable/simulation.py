"""The public function `simulate`, which passes jobs on to the simulation of their model: a tandem queue of two
stations, tasks in steps, tasks on the nodes of a cluster, or malleable jobs in a loop of decisions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from malleable.cluster import simulate as cluster
from malleable.cluster.jobs_from_events import jobs_from_events
from malleable.cluster.named_policies import OPTIONS, policy_name
from malleable.cluster.nodes import Cluster
from malleable.cluster.table import ClusterJobs
from malleable.jobs import simulate as malleable_jobs
from malleable.jobs.table import Jobs
from malleable.objective import parse_objective, warn_without_deadlines
from malleable.policies import ClusterPolicy, JobPolicy, SlottedPolicy, TandemPolicy
from malleable.results import SimulationResult, merged, renamed
from malleable.slotted import simulate as slotted
from malleable.slotted.generate import MapReduceStream
from malleable.slotted.table import MapReduceJobs
from malleable.streaming import seed_of
from malleable.tandem import simulate as tandem
from malleable.tandem.table import MapShuffleJobs, MapShuffleStream
from malleable.traces.arrow_columns import is_frame
from malleable.traces.job_table import table_of
from malleable.traces.trace import Trace
from malleable.validation import checked_choice, shown

Name = JobPolicy | TandemPolicy | SlottedPolicy | ClusterPolicy | str
Policies = Name | Sequence[Name | Any] | Any
"""Names of policies, policies of your own, or several of them."""

# By model: its module, which has `run(jobs, policy, *, rng, estimates, ...)`, its tables, the
# method that converts a trace, and the default policy.
MODELS: dict[str, tuple[Any, tuple[type, ...], str, str]] = {
    "tandem": (tandem.run, (MapShuffleJobs, MapShuffleStream), "map_shuffle", "max-srpt"),
    "slotted": (slotted.run, (MapReduceJobs, MapReduceStream), "map_reduce", "asrpt"),
    "cluster": (cluster.run, (ClusterJobs,), "tasks", "auto"),
    "jobs": (malleable_jobs.run, (Jobs,), "jobs", "flex"),
}


def simulate(
    jobs: Any,
    policy: Policies = None,
    *,
    model: str | None = None,
    rng: np.random.Generator | int | None = None,
    estimates: Any = None,
    **options: Any,
) -> SimulationResult:
    """Simulate one or several policies on the same jobs.

    Parameters
    ----------
    jobs : table, data frame, dict of columns, MapShuffleStream, MapReduceStream, Trace or path
        The jobs that arrive. The model follows from the table, or the columns of a frame or dict:

        - `MapShuffleJobs`: an overlapping tandem queue (`malleable.tandem.simulate.run`);
        - `MapReduceJobs`: map and reduce tasks in steps (`malleable.slotted.simulate.run`);
        - `ClusterJobs`: tasks on nodes (`malleable.cluster.simulate.run`);
        - `Jobs`: malleable jobs in a loop that decides every few seconds (`malleable.jobs.simulate.run`).

        A path is a file of recorded events (`malleable.Scheduler`, ``record=``): tasks take the recorded
        times, on the recorded cluster unless you give another.
    policy : str, policy of your own, or sequence of them
        Names of policies that the model's ``run`` lists, by default ``max-srpt``, ``asrpt``, ``auto`` and
        ``flex``. A name may have options of its own, between semicolons, which replace those for all
        policies: ``fair(slow_start=0.8)``. On a cluster also a `malleable.AdaptiveLiteral` and your own.
    model : {"tandem", "slotted", "cluster", "jobs"}, optional
        For a `Trace`: the model, which `Trace.map_shuffle`, `Trace.map_reduce`, `Trace.tasks` or `Trace.jobs`
        serves.
    rng : numpy Generator or seed, optional
        Draws streams and all that is random; every policy sees the same jobs.
    estimates : optional
        Sizes as policies see them; see the model's ``run``.
    **options
        Parameters of the model's ``run``, and the names of ``docs/options.md``. All models know ``records``,
        whether to keep a record of each job (by default of tables), and ``progress``, which is called with
        (parts done, all parts).

    Returns
    -------
    SimulationResult
        Records and summaries of all policies; after Ctrl-C those of the finished part, and ``complete`` is
        false.

    Raises
    ------
    ValueError
        An unknown model, policy or option, or a value out of its range; jobs that no model simulates.

    See Also
    --------
    malleable.replicate : Several simulations, with intervals.

    Notes
    -----
    The ``run`` of each model says its cost: about one decision for each event or epoch. Time is
    linear in the number of policies. Sources are in ``docs/internals/systems.md``.

    Examples
    --------
    >>> import malleable as mb
    >>> stream = mb.MapShuffleStream(20_000, 0.75)
    >>> result = mb.simulate(stream, policy=["max-srpt", "k-lps"], rng=7)
    >>> {name: round(own["mean_response"], 1) for name, own in result.summary.items()}
    {'max-srpt': 3.3, 'k-lps': 6.8}
    """
    if isinstance(jobs, (str, os.PathLike)):
        jobs, ran_on = _of_events(jobs)
        if options.get("cluster") is None and options.get("load") is None:
            options["cluster"] = ran_on
    jobs = _given(jobs, model)
    run, _, converter, default = MODELS[_model_of(jobs, model)]
    if isinstance(jobs, Trace):
        jobs = getattr(jobs, converter)()
    if isinstance(jobs, Jobs) and "objective" in options:
        warn_without_deadlines(parse_objective(options["objective"], len(jobs)), jobs)
    names = _names(default if policy is None else policy)
    seed = seed_of(rng)  # a generator would advance from policy to policy
    parts = []
    for name in names:
        base, own = own_options(name)
        part = run(jobs, base, **{"rng": seed, "estimates": estimates, **options, **own})
        parts.append(renamed(part, name) if own else part)
        if not part.complete:
            break
    return merged(parts)


def _given(jobs: Any, model: str | None) -> Any:
    models = MODELS if model is None else [checked_choice("model", model, MODELS)]
    if not isinstance(jobs, Mapping) and not is_frame(jobs):
        return jobs
    return table_of(jobs, *(table for name in models for table in MODELS[name][1]))


def _of_events(path: str | os.PathLike[str]) -> tuple[ClusterJobs, Cluster]:
    try:
        return jobs_from_events(path)
    except ValueError as error:
        told = "a path here is a file of events; mb.read(path) reads traces and tables"
        raise ValueError(f"{error} ({told})") from None


def _names(policy: Any) -> list[Any]:
    names = list(policy) if isinstance(policy, (list, tuple)) else [policy]
    if not names:
        raise ValueError("policy: at least one")
    if len({policy_name(name) for name in names}) < len(names):
        raise ValueError(f"policy = {names!r}: one of them occurs twice")
    return names


def own_options(policy: Any) -> tuple[Any, dict[str, Any]]:
    """The policy, and options that its name has in parentheses."""
    if not isinstance(policy, str) or not policy.endswith(")"):
        return policy, {}
    name, _, words = policy[:-1].partition("(")
    return name, dict(
        parsed_option(word.strip(), f"policy = {policy!r}") for word in words.split(";")
    )


def parsed_option(text: str, where: str) -> tuple[str, Any]:
    """``name=value`` with a number, true or false, or the option's own type; ``where``: for the error."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"{where}: write NAME=VALUE")
    if value in ("true", "false"):
        return name, value == "true"
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            pass
    kind_of = OPTIONS.get(name, {}).get("kind")
    if kind_of == "word" or name in _WORDS:
        return name, value
    if kind_of == "speedup" and ";" in value:
        return name, [parsed_option(f"{name}={rate}", where)[1] for rate in value.split(";")]
    raise ValueError(f"{where}: not a number, true or false")


_WORDS = ("estimates", "min_mode", "reduce_from")  # options that are words
FAIR = "fair"
_STARTS = (0.05, 0.8, 1.0)  # parts of the maps after which reduce tasks start (slow start)


def is_fair(name: str) -> bool:
    return bool(own_options(name)[0] == FAIR)


def other_fairs(jobs: Any, policies: Sequence[Any], options: Mapping[str, Any]) -> list[str]:
    """FAIR with reduce tasks that start early, late or last, unless these are among the policies. Nothing
    unless other policies of a cluster are compared with FAIR, and jobs have both phases. A fair comparison is
    with the best of these."""
    rivals = isinstance(jobs, ClusterJobs) and FAIR in policies and len(policies) > 1
    if not rivals or options.get("split_copy") or not (jobs.maps * jobs.reduces).any():
        return []
    place = options.get("cluster")
    given = {**(place.options if isinstance(place, Cluster) else {}), **options}
    known = float(given.get("slow_start", 1.0))
    names = [f"{FAIR}(slow_start={start:g})" for start in _STARTS if start != known]
    return [name for name in names if name not in policies]


def model_of(jobs: Any) -> str | None:
    """The model whose table these jobs, or those of a trace, are."""
    table = jobs.table if isinstance(jobs, Trace) else jobs
    return next((name for name, one in MODELS.items() if isinstance(table, one[1])), None)


def _model_of(jobs: Any, model: str | None) -> str:
    own = model_of(jobs)
    if own is not None and model in (None, own):
        return own
    if isinstance(jobs, Trace) and model is not None:
        return model
    told = "" if model is None else f"model = {model!r}: "
    wanted = f"model to be one of {', '.join(MODELS)} for a trace"
    if not isinstance(jobs, Trace):
        wanted = "a table of its own model: MapShuffleJobs, MapReduceJobs, ClusterJobs or Jobs, or a Trace"
    raise ValueError(f"{told}{shown(jobs)}: expected {wanted}")
