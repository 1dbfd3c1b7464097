"""`simulate`: one verb for every model."""

from __future__ import annotations

from typing import Any

import numpy as np

from malleable.cluster import simulate as cluster
from malleable.result import SimulationResult, merged
from malleable.slotted import simulate as slotted
from malleable.tandem import simulate as tandem

# One module a model, each with `run(jobs, policy, *, rng, estimates, ...)`.
_MODELS: dict[str, Any] = {"tandem": tandem.run, "slotted": slotted.run, "cluster": cluster.run}


def simulate(
    jobs: Any,
    model: str = "tandem",
    policy: Any = "max-srpt",
    *,
    rng: np.random.Generator | int | None = None,
    estimates: Any = None,
    **options: Any,
) -> SimulationResult:
    """Simulate one or several policies on the same jobs.

    Parameters
    ----------
    jobs : MapShuffleJobs or MapShuffleStream; MapReduceJobs or MapReduceStream; ClusterJobs
        What arrives.
    model : {"tandem", "slotted", "cluster"}
        Overlapping tandem queue of map and shuffle (`malleable.tandem.simulate.run`), map and reduce
        in slots (`malleable.slotted.simulate.run`), or tasks on nodes
        (`malleable.cluster.simulate.run`).
    policy : str, policy of one's own, or sequence of them
        For the tandem queue ``fcfs``, ``ps``, ``wps``, ``k-lps``, ``max-srpt``, ``split-srpt``,
        ``two-srpt``, and for batches ``best`` and ``makespan``; in slots ``asrpt``, ``unlock``,
        ``dsrpt``, ``srpt``, ``lrpt``, ``fifo``, ``fair``; on a cluster those of
        `malleable.CLUSTER_POLICIES`, a `malleable.Adaptive` and one's own.
    rng : numpy Generator or seed, optional
        For streams; every policy sees the same jobs.
    estimates : optional
        Sizes as policies see them; see the model.
    **options
        Of the model.

    Returns
    -------
    SimulationResult
        Records and summaries of all policies.

    Raises
    ------
    ValueError
        An unknown model, policy or option, or a value out of its range.
    """
    if model not in _MODELS:
        raise ValueError(f"model = {model!r}: expected one of {', '.join(_MODELS)}")
    names: list[Any] = list(policy) if isinstance(policy, (list, tuple)) else [policy]
    if not names:
        raise ValueError("policy: at least one")
    if len({cluster.policy_name(name) for name in names}) < len(names):
        raise ValueError(f"policy = {names!r}: one of them occurs twice")
    # A generator would move on from policy to policy; a seed drawn from it does not.
    seed = int(rng.integers(2**63)) if isinstance(rng, np.random.Generator) else rng
    if seed is None:
        seed = int(np.random.default_rng().integers(2**63))
    parts = []
    for name in names:
        part = _MODELS[model](jobs, name, rng=seed, estimates=estimates, **options)
        parts.append(part)
        if not part.complete:
            break
    return merged(parts)
