"""A governor against Slurm's own order, on the same arrays: real Slurm on loopback, or a simulated queue.

``python -m benchmarks.live.slurm [--real] [--seeds N] [--every 5,0.7] [--case NAME,...]``, as root where it
is real. Each seed makes one set of arrays, which is run without a governor and with one; a run takes six
minutes where it is real. What ``--json FILE`` has already is not run again. Printed are means over seeds,
and the range: mean response over Slurm's own order and over the fluid optimum (all slots to the shortest that
is left, work divisible at will), the largest stretch (response over work on all slots), slots that idle
while tasks wait.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from malleable.live.decider import SchedulerDecider
from malleable.live.slurm.commands import Slurm
from malleable.live.slurm.governor import Governor
from malleable.live.slurm.lease import Lease
from malleable.live.slurm.place_deciders import PlaceDeciders
from tests.live.fake_slurm import NOW, FakeSlurm
from tests.live.slurm_cluster import SlurmCluster, why_not

SLOTS, ARRAYS, TASKS = 24, 10, 350
CASES = {
    # known sizes, arrivals, others, objective, deadlines, multifactor
    "at once": {},
    "arrivals": {"arrivals": True},
    "at once, sizes unknown": {"known": False},
    "arrivals, sizes unknown": {"known": False, "arrivals": True},
    "others beside": {"others": True},
    "others beside, multifactor": {"others": True, "multifactor": True},
    "max:stretch": {"arrivals": True, "objective": "max:stretch"},
    "sum:tardy": {"arrivals": True, "objective": "sum:tardy", "deadlines": True},
}


def alike(name):
    """The first case whose arrays are the same: without a governor their runs are, too."""
    said = ("arrivals", "others", "multifactor")
    made = {each: [case.get(word, False) for word in said] for each, case in CASES.items()}
    return next(each for each in CASES if made[each] == made[name])


def instance(seed, case, scale):
    """Sizes, seconds of tasks, submissions, and which are another user's."""
    rng = np.random.default_rng(seed)
    count = ARRAYS + (ARRAYS // 2 if case.get("others") else 0)
    tasks = np.clip(np.rint(TASKS * scale * rng.lognormal(-0.5, 1.0, count)), 10, 1500 * scale)
    others = np.arange(count) >= ARRAYS
    shift = rng.integers(0, 100, count)
    when = np.zeros(count)
    if case.get("arrivals"):
        gaps = rng.exponential(0.6 * TASKS * scale * 2.5 / SLOTS, count)
        when = np.concatenate([[0.0], np.cumsum(gaps)[:-1]])
    order = rng.permutation(count) if others.any() else np.arange(count)
    seconds = [
        2.0 + (np.arange(1, n + 1) * 37 + s) % 100 / 100 for n, s in zip(tasks, shift, strict=True)
    ]
    work = np.array([each.sum() for each in seconds])
    slack = rng.uniform(1.5, 8.0, count)
    return {
        "tasks": tasks.astype(int), "shift": shift, "when": when, "others": others, "order": order,
        "seconds": seconds, "work": work, "deadline": when + slack * work / SLOTS + 10.0,
    }  # fmt: skip


def fluid(work, when):
    """Mean response where all slots go to the least work left."""
    left, now, ends = work.copy(), 0.0, np.full(len(work), np.inf)
    while np.isinf(ends).any():
        here = (when <= now + 1e-9) & np.isinf(ends)
        coming = when[when > now + 1e-9]
        after = coming.min() if len(coming) else np.inf
        if not here.any():
            now = after
            continue
        first = np.flatnonzero(here)[np.argmin(left[here])]
        end = now + left[first] / SLOTS
        if end <= after:
            ends[first] = now = end
        else:
            left[first] -= (after - now) * SLOTS
            now = after
    return (ends - when).mean()


def comment(made, case, row):
    words = ["malleable"]
    if case.get("known", True):
        words.append(f"seconds={made['work'][row] / made['tasks'][row]:.3f}")
    return words


def _decider(objective):
    """As ``malleable govern`` makes it."""
    return SchedulerDecider(1, "flex", objective, counted=True, processors="own")


def simulated(made, case, every):
    world = FakeSlurm(SLOTS)
    todo = sorted(made["order"].tolist(), key=lambda row: made["when"][row])
    number_of, governor = {}, None
    if every:
        engine = Slurm(every, ask=world.ask, clock=world.clock, sleep=world.sleep, wall=world.wall)
        objective = case.get("objective", "sum:response")
        governor = Governor(
            engine, PlaceDeciders(lambda place: _decider(objective)),
            lambda array: True, Lease(engine), clock=world.clock,
        )  # fmt: skip
    idle = total = 0.0
    while todo or any(each.pending or each.running for each in world.arrays.values()):
        while todo and made["when"][todo[0]] <= world.now + 1e-9:
            row = todo.pop(0)
            words = comment(made, case, row)
            if case.get("deadlines"):
                words.append(f"deadline={NOW + made['deadline'][row]:.0f}")
            same = {"base": 100_000} if case.get("multifactor") else {}
            array = world.submit(
                int(made["tasks"][row]), lambda k, s=made["seconds"][row]: float(s[k - 1]),
                user="you" if made["others"][row] else "me", comment=" ".join(words), **same,
            )  # fmt: skip
            number_of[row] = array.number
        next_one = made["when"][todo[0]] if todo else np.inf
        until = min(world.now + 0.25, next_one)
        if any(each.pending for each in world.arrays.values()):
            used = sum(len(each.running) for each in world.arrays.values())
            idle, total = idle + SLOTS - used, total + SLOTS
        if governor:
            governor.step(max(1e-3, until - world.now))
        if world.now < until:
            world.advance(until - world.now)
    ends = np.array([world.arrays[number_of[row]].done for row in range(len(made["work"]))])
    return ends - made["when"], idle / max(total, 1.0)


def real(made, case, every):
    extra = ""
    if case.get("multifactor"):
        extra = "PriorityWeightAge=1000\nPriorityWeightPartition=100000\nPriorityMaxAge=1-0"
    priority = "multifactor" if case.get("multifactor") else "basic"
    with SlurmCluster(SLOTS, priority, extra) as cluster:
        cluster.environment["TZ"] = "UTC"
        zero, number_of, ends = time.time(), {}, {}
        todo = sorted(made["order"].tolist(), key=lambda row: made["when"][row])
        governor = None
        if every:
            governor = cluster.govern(
                "--apply",
                "--every",
                str(every),
                "--objective",
                case.get("objective", "sum:response"),
            )
        idle = total = 0.0
        while len(ends) < len(made["work"]):
            now = time.time() - zero
            while todo and made["when"][todo[0]] <= now:
                row = todo.pop(0)
                words = comment(made, case, row)
                if case.get("deadlines"):
                    words.append(f"deadline={zero + made['deadline'][row]:.0f}")
                part = f"$(( (SLURM_ARRAY_TASK_ID * 37 + {made['shift'][row]}) % 100 ))"
                script = f"2.$(printf %02d {part})"
                number_of[row] = cluster.array(
                    int(made["tasks"][row]), script, "--comment", " ".join(words),
                    name=f"a{row}", who=cluster.other if made["others"][row] else None,
                )  # fmt: skip
            lines = [line.split() for line in cluster.seen("%F %t")]
            now = time.time() - zero
            present = {int(line[0]) for line in lines}
            for row, number in number_of.items():
                if number not in present and row not in ends:
                    ends[row] = now
            if any(line[1] == "PD" for line in lines):
                used = sum(line[1] in ("R", "CG", "CF") for line in lines)
                idle, total = idle + SLOTS - used, total + SLOTS
            time.sleep(0.5)
        if governor:
            governor.send_signal(signal.SIGTERM)
            governor.communicate(timeout=60)
    ends = np.array([ends[row] for row in range(len(made["work"]))])
    return ends - made["when"], idle / max(total, 1.0)


def measure(name, seed, every, how, scale, file=None):
    case = CASES[name]
    made = instance(seed, case, scale)
    response, idle = (real if how == "real" else simulated)(made, case, every)
    own = ~made["others"]
    stretch = response / (made["work"] / SLOTS)
    found = {
        "case": name, "seed": seed, "every": every, "how": how, "scale": scale,
        "response": response[own].mean(),
        "stretch": stretch[own].max(), "idle": idle,
        "late": int((made["when"] + response > made["deadline"])[own].sum()),
    }  # fmt: skip
    if (~own).any():
        found["others"] = response[~own].mean()
    else:
        found["fluid"] = fluid(made["work"], made["when"])
    if file:
        with file.open("a") as out:
            out.write(json.dumps(found) + "\n")
    return found


def told(rows):
    """One line a case and poll: ratios to the same seed without a governor."""
    for name, case in CASES.items():
        own = alike(name)
        for every in sorted({row["every"] for row in rows if row["every"]}, reverse=True):
            pairs = [
                (one, next(r for r in rows if (r["case"], r["seed"], r["every"]) == (own, one["seed"], 0)))
                for one in rows
                if one["case"] == name and one["every"] == every
            ]  # fmt: skip
            if not pairs:
                continue
            ratio = np.array([one["response"] / base["response"] for one, base in pairs])
            text = f"{name:28} every {every:g} s, {len(pairs)} seeds: {ratio.mean():.3f}"
            text += f" ({ratio.min():.2f} to {ratio.max():.2f})"
            if "fluid" in pairs[0][0]:
                text += (
                    f"; over fluid {np.mean([o['response'] / o['fluid'] for o, _ in pairs]):.2f}"
                )
                text += f" (own {np.mean([b['response'] / b['fluid'] for _, b in pairs]):.2f})"
            else:
                foreign = [o["others"] / b["others"] for o, b in pairs]
                text += f"; others {np.mean(foreign):.2f} (worst {max(foreign):.2f})"
            text += f"; stretch {np.mean([o['stretch'] for o, _ in pairs]):.1f}"
            text += f" (own {np.mean([b['stretch'] for _, b in pairs]):.1f})"
            more = np.mean([o["idle"] - b["idle"] for o, b in pairs])
            text += f"; idle {100 * more:+.2f} points"
            if case.get("deadlines"):
                late = [sum(side[k]["late"] for side in pairs) for k in (0, 1)]
                text += f"; late {late[0]} of {late[1]}"
            print(text, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--real", action="store_true", help="a real Slurm; needs root")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--every", default="5,0.7")
    parser.add_argument("--case", default=",".join(c.replace(", ", "/") for c in CASES))
    parser.add_argument("--scale", type=float, default=1.0, help="of arrays' sizes")
    parser.add_argument("--side-by-side", type=int, default=1)
    parser.add_argument("--json", help="rows are added to this file")
    asked = parser.parse_args()
    if asked.real and why_not():
        sys.exit(why_not())
    names = [name.replace("/", ", ") for name in asked.case.split(",")]
    polls, how = (
        [float(each) for each in asked.every.split(",")],
        "real" if asked.real else "simulated",
    )
    runs = [
        run for seed in range(asked.first, asked.first + asked.seeds) for name in names
        for run in ((alike(name), seed, 0.0), *((name, seed, every) for every in polls))
    ]  # fmt: skip
    file = Path(asked.json) if asked.json else None
    kept = file.read_text().splitlines() if file and file.exists() else []
    found = {
        (row["case"], row["seed"], row["every"]): row
        for row in map(json.loads, kept)
        if (row["how"], row["scale"]) == (how, asked.scale)
    }
    todo = [run for run in dict.fromkeys(runs) if run not in found]
    with ThreadPoolExecutor(asked.side_by_side) as pool:
        rows = list(pool.map(lambda run: measure(*run, how, asked.scale, file), todo))
    told([*(found[run] for run in dict.fromkeys(runs) if run in found), *rows])


if __name__ == "__main__":
    os.umask(0o022)
    main()
