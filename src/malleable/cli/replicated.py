"""``malleable simulate`` with several seeds, or at every point of a grid."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from malleable.cli.outputs import Outputs, ended
from malleable.cli.simulate_cases import Case
from malleable.cli.terminal import listed, progress_bar
from malleable.cli.workers import workers
from malleable.replications import replicate
from malleable.simulation import other_fairs
from malleable.view.drawing import image_bytes
from malleable.view.simulations import replications_dict, replications_tables

# By argument of a grid: the option of the simulation that varies, and the option that must not be
# given, too.
_AXES = {
    "loads": ("load", "load"),
    "speedups": ("speedup", ""),
    "periods": ("period", "period"),
    "errors": ("estimates", "estimates"),
}


def _grid(asked: argparse.Namespace) -> dict[str, list[float]]:
    axes = {}
    for name, (varied, beside) in _AXES.items():
        text = getattr(asked, name, None)  # commands of models have different options
        if text is not None and beside and getattr(asked, beside) is not None:
            raise ValueError(f"--{name}: cannot be used with --{beside}")
        if text is not None:
            axes[varied] = listed(name, text, float)
    return axes


def several(asked: argparse.Namespace) -> bool:
    return asked.replications > 1 or any(getattr(asked, name, None) for name in _AXES)


def _same(jobs: Any, seed: int) -> Any:
    return jobs


def replicated(asked: argparse.Namespace, outputs: Outputs, made: Case) -> int:
    """Replications, at every point of a grid if there is one; after Ctrl-C the finished ones."""
    grid = _grid(asked)
    for name in outputs.files:
        if name != "json" and not (grid and name == "plot"):
            raise ValueError(f"--{name.replace('_', '-')}: works for a single run only")
    names = [name.strip() for name in (asked.policy or made.policies).split(",")]
    rivals = other_fairs(made.jobs, names, made.options)
    with workers(asked.processes) as executor, progress_bar("replications") as advance:
        found = replicate(
            partial(_same, made.jobs),
            range(asked.seed, asked.seed + asked.replications),
            [*names, *rivals],
            grid=grid,
            executor=executor,
            model=asked.model,
            horizon=asked.horizon,
            progress=lambda _, total: advance("replications", total),
            **made.options,
        )
    if not found.done:
        return ended(False)
    return outputs.give(
        lambda: {**made.facts, **replications_dict(found)},
        [*made.told, *replications_tables(found, None, rivals, asked.details)],
        found.complete,
        plot=lambda path: image_bytes(found.plot(), path),
    )
