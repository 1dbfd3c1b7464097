"""Processor time and memory of a call that a child process makes, as calls of jobs with backup tasks on Dask.

    python -m benchmarks.live.apart

The same call of ``pow`` is made in this process, and by a child of it; processor time of both sides counts, so
that the figures do not depend on what else the machine does.
"""

from __future__ import annotations

import json
import os
import pickle
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from malleable.live.engines.process.apart import Children
from malleable.live.engines.remote import Packing, outcome

_CALLS, _STARTS = 2000, 3
_START = "import malleable.live.engines.process.apart, cloudpickle"


def main() -> None:
    """Measure and print."""
    children, packing = Children(), Packing()

    def made(function: Any, *arguments: Any) -> Any:
        children.expect("key")
        return pickle.loads(children.outcome("key", packing((function, arguments, {})))[1])

    pid = made(os.getpid)
    here, there = time.process_time(), made(time.process_time)
    for _ in range(_CALLS):
        made(pow, 2, 3)
    there = made(time.process_time) - there
    here = time.process_time() - here
    plain = time.process_time()
    for _ in range(_CALLS):
        outcome(packing((pow, (2, 3), {})))
    plain = time.process_time() - plain
    memory = Path(f"/proc/{pid}/smaps_rollup").read_text().split()
    children.close()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(_STARTS):
        subprocess.run([sys.executable, "-c", _START], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    told = {
        "call_here_us": round(1e6 * plain / _CALLS),
        "call_in_child_us": [round(1e6 * each / _CALLS) for each in (here, there)],
        "first_call_of_a_worker_s": round(start / _STARTS, 2),
        "child_mb": round(int(memory[memory.index("Pss:") + 1]) / 1024.0, 1),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
