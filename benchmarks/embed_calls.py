"""What a call costs from Cython and from Numba beyond the C++ call, and a penalty through Numba.

``python benchmarks/embed_calls.py --core build/core/bench_embed`` measures the package that is installed;
``--wheel FILE`` makes an environment with that wheel, Cython and Numba first. The C++ call is that of
``bench_embed``, before and after. All times are the thread's processor time.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Callable
from pathlib import Path
from time import thread_time
from typing import Any

HERE = Path(__file__).resolve().parent
CALLS, ROUNDS = 10_000, 301
JOBS, DECISIONS = 10_000, 60

Timed = Callable[[int, float, int], float]


def in_environment(wheel: Path, core: Path) -> int:
    """The same with that wheel."""
    with tempfile.TemporaryDirectory() as name:
        venv.create(name, with_pip=True)
        python = Path(name, "bin", "python")
        install = ["-m", "pip", "install", "-q", "--disable-pip-version-check"]
        subprocess.run([python, *install, wheel, "cython", "numba"], check=True)
        command = [python, "-P" if sys.version_info >= (3, 11) else "-I", Path(__file__).resolve()]
        return subprocess.run([*command, "--core", core.resolve()], check=False).returncode


def cython_module(folder: Path) -> Any:
    """``embed_calls.pyx``, built against the package's header."""
    from malleable import embed

    shutil.copy(HERE / "embed_calls.pyx", folder / "calls.pyx")
    subprocess.run([sys.executable, "-m", "cython", "-3", "calls.pyx"], cwd=folder, check=True)
    headers = [f"-I{sysconfig.get_path('include')}", f"-I{embed.get_include()}"]
    built = folder / "calls.so"
    subprocess.run(
        ["cc", "-O2", "-shared", "-fPIC", *headers, folder / "calls.c", "-o", built], check=True
    )
    spec = importlib.util.spec_from_file_location("calls", built)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def numba_loops() -> dict[str, Timed]:
    """The same loops, compiled by Numba."""
    import numba
    import numpy as np

    from malleable import embed

    decide = embed.function("malleable_epoch_decide")
    size = embed.function("malleable_epoch_size")

    @numba.njit(nogil=True)
    def decisions(epoch, now, calls, decision):  # type: ignore[no-untyped-def]
        for _ in range(calls):
            decide(epoch, now, 0, 0.0, decision.ctypes)

    @numba.njit(nogil=True)
    def sizes(epoch, calls, jobs):  # type: ignore[no-untyped-def]
        for _ in range(calls):
            size(epoch, jobs.ctypes, 0)

    ids, given, rows = (np.zeros(1, np.int64) for _ in range(3))
    decision = np.zeros(1, embed.record("malleable_decision"))
    decision["bytes"], decision["room"] = decision.itemsize, 1
    decision["ids"], decision["given"] = ids.ctypes.data, given.ctypes.data

    def timed(run: Callable[..., None], *arguments: Any) -> float:
        began = thread_time()
        run(*arguments)
        took = thread_time() - began
        assert (decision["rows"] if run is decisions else rows)[0] == 1
        return took

    return {
        "decide": lambda handle, now, calls: timed(decisions, handle, now, calls, decision),
        "size": lambda handle, now, calls: timed(sizes, handle, calls, rows),
    }


def nanoseconds(run: Timed) -> float:
    """Of a call: the lower quartile of rounds."""
    import malleable as mb
    from malleable import embed

    epoch = mb.Epoch(10)
    epoch.add([5.0], max_slots=1)
    run(embed.handle(epoch), 0.0, 1)
    took = [run(embed.handle(epoch), float(k), CALLS) for k in range(ROUNDS)]
    return 1e9 / CALLS * statistics.quantiles(took, n=4)[0]


def core_nanoseconds(core: Path) -> tuple[float, float]:
    """The C++ call, and what C adds, as ``bench_embed`` has them."""
    told = subprocess.run([core], capture_output=True, text=True, check=True).stdout
    found = re.search(r"decide of 1 job \[ns\]: ([\d.]+), through C (-?[\d.]+) more", told)
    assert found is not None, told
    return float(found[1]), float(found[2])


def penalty_ratio() -> tuple[float, float]:
    """Milliseconds of a decision under tardiness as built in, and the ratio of one's own to it."""
    import numpy as np

    import malleable as mb
    from malleable.objective import penalty

    rng = np.random.default_rng(1)
    work, most = rng.lognormal(3.0, 1.5, JOBS), rng.integers(1, 41, JOBS)
    deadline = rng.uniform(10.0, 4000.0, JOBS)

    @penalty
    def late(job: int, completion: float) -> float:
        return max(0.0, completion - deadline[job])

    epochs = {
        "built in": mb.Epoch(2000, "sum:tardiness"),
        "own": mb.Epoch(2000, "sum:custom", penalty=late),
    }
    took: dict[str, list[float]] = {name: [] for name in epochs}
    for epoch in epochs.values():
        epoch.add(work, max_slots=most, deadline=deadline)
    for k in range(DECISIONS):
        rows = rng.integers(0, JOBS, JOBS // 100)
        rows = np.unique(rows)
        left = work[rows] * rng.uniform(0.2, 1.0, len(rows))
        slots = {}
        for name, epoch in epochs.items():
            began = thread_time()
            epoch.update(rows, work=left)
            slots[name] = epoch.decide(float(k)).slots
            took[name].append(thread_time() - began)
        assert (slots["own"] == slots["built in"]).mean() > 0.9
    middle = {name: statistics.median(values) for name, values in took.items()}
    return 1e3 * middle["built in"], middle["own"] / middle["built in"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--core", type=Path, required=True, help="bench_embed, as it was built")
    parser.add_argument("--wheel", type=Path, help="what to measure, if not what is installed")
    asked = parser.parse_args()
    if asked.wheel is not None:
        return in_environment(asked.wheel.resolve(), asked.core)
    before = core_nanoseconds(asked.core)
    with tempfile.TemporaryDirectory() as name:
        module = cython_module(Path(name))
        loops: dict[str, dict[str, Timed]] = {
            "Cython": {"decide": module.decide, "size": module.size},
            "Numba": numba_loops(),
        }
        took = {
            who: {what: nanoseconds(run) for what, run in own.items()} for who, own in loops.items()
        }
    after = core_nanoseconds(asked.core)
    core = min(before[0], after[0])
    print(f"decide of 1 job from C++ [ns]: {before[0]:.1f}, {after[0]:.1f}")
    print(f"beyond it from C [ns]: {before[1]:.1f}, {after[1]:.1f}")
    for who, own in took.items():
        told = f"{own['decide'] - core:.1f}; malleable_epoch_size alone: {own['size']:.1f}"
        print(f"beyond it from {who} [ns]: {told}")
    milliseconds, ratio = penalty_ratio()
    print(f"tardiness of {JOBS:,} jobs, update and decide [ms]: {milliseconds:.2f}")
    print(f"the same as a penalty of one's own: {ratio:.2f} x")
    return 0


if __name__ == "__main__":
    sys.exit(main())
