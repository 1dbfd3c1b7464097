"""A Slurm that exists in the tests alone: answers as squeue, scontrol and sbatch do, with faults.

Time is its own. Tasks start in the order of priority, then number, while slots are free; `base` is an
array's own priority, of which its Nice is taken.
"""

import re
from dataclasses import dataclass, field

from malleable.live.slurm.answers import LEASE
from malleable.live.slurm.commands import Reply

NOW = 1_700_000_000.0


@dataclass
class FakeArray:
    number: int
    tasks: int
    seconds: float  # of a task, or a function of its number
    base: int
    name: str = "a"
    comment: str = "(null)"
    user: str = "me"
    place: str = "main"
    width: int = 1
    memory: int = 0  # [MiB] of a task
    nice: int = 0
    throttle: int = 0
    after: int = 0
    reason: str = "Priority"
    submitted: float = 0.0
    fails: int = 0
    next: int = 1
    running: dict = field(default_factory=dict)  # task -> when it began, and ends
    done: float = float("nan")

    @property
    def pending(self):
        return self.tasks - self.next + 1


class FakeSlurm:
    """``faults(words) -> Reply or None`` may answer instead; ``nice``: whether Nice moves priorities.

    ``memory``: what is shared out of a place [MiB]; 0: memory is not. ``most``: CPUs of a node that a
    place may have; 0: all.
    """

    def __init__(
        self, slots=24, places=("main",), nice="moves", faults=lambda words: None, memory=0, most=0
    ):
        self.slots, self.places, self.nice, self.faults = slots, places, nice, faults
        self.memory, self.most = memory, most
        self.now = 0.0
        self.arrays = {}
        self.leases = {}  # number -> [begin, script, comment]
        self.ended_leases = {}  # that are shown for some minutes
        self.updates = []
        self.calls = []
        self.top = 4_294_901_759
        self.number = 0
        self.took = 0.01
        self.busiest = {}

    # The world.

    def submit(self, tasks, seconds, **more):
        self.number += 1
        self.top -= 1
        more.setdefault("base", self.top)
        array = FakeArray(self.number, tasks, seconds, submitted=self.now, **more)
        self.arrays[self.number] = array
        self._start()
        return array

    def priority(self, array):
        if self.nice == "stuck":
            return array.base
        return max(1, array.base - array.nice)

    def blocked(self, array):
        if array.after:
            parent = self.arrays.get(array.after)
            if parent and parent.fails and not parent.running and not parent.pending:
                return "DependencyNeverSatisfied"
            if parent and (parent.pending or parent.running):  # also of one that will never start
                return "Dependency"
        return ""

    def _start(self):
        for place in self.places:
            here = [each for each in self.arrays.values() if each.place == place]
            slots = min(self.slots, self.most or self.slots)
            free = slots - sum(len(each.running) * each.width for each in here)
            room = self.memory - sum(len(each.running) * each.memory for each in here)
            for array in sorted(here, key=lambda each: (-self.priority(each), each.number)):
                if self.blocked(array) or array.reason == "JobHeldUser":
                    continue
                while (
                    array.pending
                    and free >= array.width
                    and (not self.memory or room >= array.memory)
                    and (not array.throttle or len(array.running) < array.throttle)
                ):
                    took = array.seconds
                    took = took(array.next) if callable(took) else took
                    array.running[array.next] = self.now, self.now + took
                    array.next += 1
                    free -= array.width
                    room -= array.memory
                    most = self.busiest.get(array.number, 0)
                    self.busiest[array.number] = max(most, len(array.running))

    def advance(self, seconds):
        until = self.now + seconds
        while True:
            ends = [end for each in self.arrays.values() for _, end in each.running.values()]
            begins = [lease[0] for lease in self.leases.values()]
            first = min([*ends, *begins, until])
            if first >= until and not any(end <= until for end in [*ends, *begins]):
                break
            self.now = max(self.now, first)
            for array in self.arrays.values():
                for task in [t for t, (_, end) in array.running.items() if end <= self.now]:
                    del array.running[task]
                    if not array.running and not array.pending:
                        array.done = self.now
            for number in [n for n, lease in self.leases.items() if lease[0] <= self.now]:
                self.ended_leases[number] = self.leases.pop(number)
                self._update(self.ended_leases[number][1])
            self._start()
        self.now = until

    def sleep(self, seconds):
        self.advance(seconds)

    def clock(self):
        return self.now

    def wall(self):
        return NOW + self.now

    # What commands say.

    def ask(self, words, lines=""):
        self.calls.append(list(words))
        fault = self.faults(words)
        if fault is not None:
            return fault
        if words[0] == "squeue" and "-O" in words:
            wanted = [self.arrays[int(number)] for number in words[-1].split(",")]
            lines = [
                f"{a.number:<20}cpu={a.width},mem={a.memory}M,node=1,billing={a.width}\n"
                for a in wanted
            ]
            return Reply("".join(lines), "", self.took)
        if words[-1] == "config":
            how = "CR_CPU_MEMORY" if self.memory else "CR_CPU"
            return Reply(f"SelectTypeParameters    = {how}\n", "", self.took)
        if words[0] == "squeue":
            return Reply(self._squeue(words), "", self.took)
        if words[0] == "sbatch":
            self.number += 1
            begin = next(w for w in words if w.startswith("--begin=now+"))
            comment = next(w for w in words if w.startswith("--comment=")).partition("=")[2]
            self.leases[self.number] = [self.now + int(begin.partition("+")[2]), lines, comment]
            return Reply(f"{self.number}\n", "", self.took)
        if words[0] == "scancel":
            number = int(words[1])
            if number in self.leases:
                self.ended_leases[number] = self.leases.pop(number)
            return Reply("", "", self.took)
        if words[:2] == ("scontrol", "write") or list(words[:2]) == ["scontrol", "write"]:
            return Reply((self.leases | self.ended_leases)[int(words[3])][1], "", self.took)
        if "partitions" in words:
            most = self.most or "UNLIMITED"
            lines = [f"PartitionName={place} MaxCPUsPerNode={most}\n" for place in self.places]
            return Reply("".join(lines), "", self.took)
        if "nodes" in words:
            return Reply(self._nodes(), "", self.took)
        why = self._update(lines)
        self._start()
        return Reply("", why, self.took)

    def _update(self, lines):
        why = ""
        for number, key, value in re.findall(r"^update JobId=(\d+) (\w+)=(\S+)$", lines, re.M):
            self.updates.append((int(number), key, value))
            if key == "StartTime":
                self.leases[int(number)][0] = self.now + int(value.removeprefix("now+"))
                continue
            array = self.arrays.get(int(number))
            if array is None or not array.pending:
                why = f"scontrol: Job {number} already finished"
                continue
            if array.next > 1:
                why = "scontrol: already finished, No error"
            if key == "Nice" and self.nice != "refused":
                array.nice = int(value)
            elif key == "ArrayTaskThrottle":
                array.throttle = int(value)
        return why

    def _nodes(self):
        text = ""
        for place in self.places:
            here = [each for each in self.arrays.values() if each.place == place]
            used = sum(len(each.running) * each.width for each in here)
            memory = sum(len(each.running) * each.memory for each in here)
            text += (
                f"NodeName=n Arch=x CPUAlloc={used} CPUEfctv={self.slots} CPUTot={self.slots}"
                f" RealMemory={self.memory or 1000} AllocMem={memory} State=MIXED Partitions={place} \n"
            )
        return text

    def _squeue(self, words):
        form = words[words.index("-o") + 1]
        text = ""
        for array in self.arrays.values():
            if "--me" in words and array.user != "me":
                continue
            why = self.blocked(array) or array.reason
            cap = f"%{array.throttle}" if array.throttle else ""
            rows = []
            if array.pending:
                listed = f"{array.next}-{array.tasks}" if array.pending > 1 else f"{array.tasks}"
                held = why == "JobHeldUser"
                rows.append(("PD", listed + cap, why, 0 if held else self.priority(array), "N/A"))
            running = {} if "PD" in words else array.running
            for task, (began, _) in running.items():
                rows.append(("R", str(task), "None", self.priority(array), str(int(NOW + began))))
            if "PD" not in words and array.fails and not array.pending and not array.running:
                rows += [("F", str(k + 1), "NonZeroExitCode", 1, "0") for k in range(array.fails)]
            for state, listed, reason, priority, began in rows:
                job = array.number if state == "PD" else 1000 * array.number + int(listed)
                values = {
                    "F": array.number, "A": job, "K": listed, "t": state, "C": array.width,
                    "P": array.place, "y": array.nice, "Q": priority, "r": reason,
                    "E": f"afterok:{array.after}_*(unfulfilled)" if array.after else "(null)",
                    "V": int(NOW + array.submitted), "S": began, "u": array.user,
                    "k": array.comment, "j": array.name,
                }  # fmt: skip
                text += re.sub(r"%([A-Za-z])", lambda found: str(values[found[1]]), form) + "\n"  # noqa: B023
        for number, (begin, _, comment) in (self.leases | self.ended_leases).items():
            state = "PD" if number in self.leases else "CA"
            if "-t" in words and state not in words[words.index("-t") + 1].split(","):
                continue
            values = dict.fromkeys("FAKtCPyQrEVSukj", "0") | {
                "F": number, "A": number, "K": "N/A", "t": state, "C": 1, "r": "BeginTime",
                "S": int(NOW + begin), "k": comment, "j": LEASE,
            }  # fmt: skip
            if "--me" in words:
                text += re.sub(r"%([A-Za-z])", lambda found: str(values[found[1]]), form) + "\n"  # noqa: B023
        return text
