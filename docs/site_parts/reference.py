"""A page for each group of public names, of their docstrings. The groups are those of ``__init__.pyi``."""

import inspect
import re
from pathlib import Path

import malleable as mb

from . import keep, titled

TITLES = {
    "plan": "Plan a table of jobs or flows",
    "decide": "Decide in a loop",
    "simulate": "Simulate policies",
    "read": "Read and write files",
    "run": "Run calls and commands",
    "compare": "Compare policies",
    "embed": "Embed the core",
}
# Results and helpers that public calls give back, beside what they belong to.
BESIDE = {
    "plan": ["malleable.objective.penalty"],
    "decide": [
        "malleable.flows.epoch.FlowDecision",
        "malleable.tandem.epoch.TandemDecision",
        "malleable.slotted.epoch.SlottedDecision",
        "malleable.cluster.scheduler_decision.SchedulerDecision",
        "malleable.cluster.scheduler_decision.TaskStarts",
        "malleable.cluster.matching.AdaptiveMatching",
    ],
    "run": [
        "malleable.live.executor.ExecutorJob",
        "malleable.live.executor.Progress",
    ],
    "embed": ["malleable.embed.handle", "malleable.embed.function", "malleable.embed.record"],
}


def groups() -> dict[str, list[str]]:
    """Public names by verb, as the stub has them."""
    stub = Path(mb.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    _, *parts = re.split(r"^# (\w+)$", stub, flags=re.MULTILINE)
    return {
        verb: re.findall(r" as (\w+)", names)
        for verb, names in zip(parts[::2], parts[1::2], strict=True)
    }


def _entry(name: str) -> str:
    found = mb
    home, _, last = name.rpartition(".")
    found = getattr(__import__(home, fromlist=[last]), last)
    if inspect.isclass(found):
        return f".. autoclass:: {name}\n   :members:\n   :inherited-members: {_ends(found)}\n"
    if inspect.ismodule(found):
        return f".. automodule:: {found.__name__}\n   :members:\n   :imported-members:\n"
    return f".. autofunction:: {name}\n"


def _ends(found: type) -> str:
    """Classes of others, whose members are documented elsewhere."""
    return ", ".join(
        dict.fromkeys(
            base.__name__ for base in found.__mro__ if not base.__module__.startswith("malleable")
        )
    )


def write(folder: Path) -> None:
    """The pages ``reference/VERB.rst``. O(public names)."""
    for verb, names in groups().items():
        parts = [f"malleable.{name}" for name in names] + BESIDE.get(verb, [])
        text = titled(TITLES[verb]) + "\n" + "\n".join(map(_entry, parts))
        keep(folder / "reference" / f"{verb}.rst", text)
