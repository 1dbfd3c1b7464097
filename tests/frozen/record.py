"""Freezes anew what all policies decide: ``python -m tests.frozen.record [files]``, or ``make freeze``."""

import sys
from functools import partial
from pathlib import Path

from tests.frozen import epochs, plans, simulations
from tests.frozen.lines import close, equal

EXPECTED = Path(__file__).parent / "expected"

# Who tells what is in a file of expected/.
FILES = {
    **{f"plans/{name}": partial(plans.jobs, name) for name in plans.JOBS},
    **{f"plans/{name}": partial(plans.flows, name) for name in plans.FLOWS},
    "plans/many": plans.many,
    "plans/custom": plans.custom,
    "epochs/jobs": epochs.jobs,
    "epochs/jobs-facebook": epochs.facebook,
    "epochs/many": epochs.many,
    "epochs/flows": epochs.flows,
    "epochs/periodic": epochs.periodic,
    "epochs/tandem": epochs.tandem,
    "epochs/slotted": epochs.slotted,
    "epochs/adaptive": epochs.adaptive,
    "simulations/map-shuffle": simulations.tandem,
    "simulations/map-shuffle-batch": simulations.batch,
    "simulations/map-reduce": simulations.slotted,
    "simulations/cluster": simulations.cluster,
    "simulations/cluster-gangs": simulations.gangs,
    "simulations/cluster-flows": simulations.cluster_flows,
    "simulations/cluster-libm": simulations.cluster_libm,
}

# How lines are compared: byte for byte, but for floats out of the C library's functions.
SAME = {name: close if name.endswith("-libm") else equal for name in FILES}


def path_of(name):
    """Where a file is kept."""
    return EXPECTED / f"{name}.txt"


def text_of(name):
    """What a file should say now."""
    return "\n".join(FILES[name]())


def main(names):
    for name in names or FILES:
        path = path_of(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text_of(name))
        print(f"{path.stat().st_size:>9,} {path.relative_to(EXPECTED.parent)}")


if __name__ == "__main__":
    main(sys.argv[1:])
