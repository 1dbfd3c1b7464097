"""The figures of a page, in JSON's types: what ``--json`` writes and what the page shows. Every shown number
is in it once. Sections that cannot be made say why in ``missing``.

The page compares simulated policies with each other and with the record (what really happened). Its *subject*
is the policy that the page is about, the *baseline* what that is compared with; *trust* says how near
simulations come to the record; a *unit* is a job as the log has it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from malleable import _core
from malleable.arrays import Floats
from malleable.display import counted
from malleable.records import mean_of, most_of, ratio
from malleable.report import scenarios as runs
from malleable.report.gains import by_group, movers
from malleable.report.study import Study
from malleable.report.units import Schedule, changes, mean_bound, metrics
from malleable.report.verdict import verdict
from malleable.simulation import is_fair
from malleable.view.simulations import best_fair
from malleable.view.text import fields_of, plain

# what is simulated by default; for rigid jobs `RIGID_POLICIES`
POLICIES = ("fair", "fifo", "flex", "auto(estimates=learn)", "auto")
_QUEUED = ("easy", "fcfs", "conservative", "easy-sjf", "easy(order=wfp3)")
RIGID_POLICIES = (*_QUEUED, "auto")
# policies that clusters use: the nearest to the record has probably run
_MAY_HAVE_RUN = (
    *_QUEUED, "easy(order=area)", "easy(order=unicef)", "easy(order=f1)", "easy(order=multifactor)",
)  # fmt: skip
_IN_CURVE = ("easy", "auto")  # policies of a curve for rigid jobs
_ENOUGH = 100  # least number of jobs for a comparison of simulation and record
_NEAR = (0.8, 1.25)  # simulated over recorded mean, if the simulation is plausible
_NEAR_WAIT = (0.25, 0.05)  # allowed error: as a part of the recorded wait, or of the mean response
RECORDED, BOUND = "recorded", "bound"  # rows of the table that are no policies
_WAITS = {"mean_wait": "the mean", "p50_wait": "the median", "p95_wait": "the 95th percentile"}
_ALIKE = 0.01  # gains by a smaller part do not count
_SAME = 0.02  # no extra point for today's load if a point of the curve is this near
_WINDOWS = 160  # windows from the first arrival to the last end


@dataclass(frozen=True)
class Asked:
    """What a page should show.

    Attributes
    ----------
    policies : sequence of str, optional
        By default `POLICIES`, or `RIGID_POLICIES` if any job is rigid. Gains and losses are those of ``auto``,
        else of the last one; for rigid jobs of the best one.
    recorded_policy : str, optional
        What ran when the record was made; by default the nearest of all that may have run.
    quick : bool
        Without other loads and shares of malleable jobs.
    workers : int
        Simulations side by side.
    command : str
        The command that makes the page, which the page shows.
    """

    policies: Collection[str] | None = None
    recorded_policy: str | None = None
    quick: bool = False
    seed: int = 0
    workers: int = 1
    command: str = ""

    @property
    def subject(self) -> str:
        """The policy that the page is about, unless its jobs are rigid."""
        return "auto" if "auto" in (self.policies or ()) else [*(self.policies or ())][-1]


def facts(study: Study, asked: Asked, progress: runs.Tell | None = None) -> dict[str, Any]:
    """Simulate what the page needs, and collect its figures; ``complete`` is False after Ctrl-C. Raises as
    `malleable.simulate`."""
    usual = RIGID_POLICIES if _rigid(study) else POLICIES
    quick = asked.quick or len(study.units) < 2  # no order of one job is better than another
    asked = replace(asked, policies=dict.fromkeys(asked.policies or usual), quick=quick)
    curve = not asked.quick and math.isfinite(study.load)
    how: dict[str, Any] = {"seed": asked.seed, "workers": asked.workers, "progress": progress}
    found, complete = runs.run_all(_scenarios(study, asked, curve), study.cluster, **how)
    made = _Made(study, asked, found)
    told = made.head() | made.compared()
    told |= {"verdict": verdict(told), "complete": complete, "curve": made.curve(curve)}
    result: dict[str, Any] = plain(told | {"time": _over_time(study, made.schedules, made.busy)})
    return result


def _rigid(study: Study) -> bool:
    return bool((study.jobs.width > 1).any())


def _scenarios(study: Study, asked: Asked, curve: bool) -> list[runs.Scenario]:
    wanted = runs.base_scenarios(study, [*(asked.policies or ()), *_compared(study, asked)])
    names = [each.policy for each in wanted]
    if curve:
        chosen = _IN_CURVE if _rigid(study) else (asked.subject, "fifo")
        in_curve = [name for name in names if is_fair(name) or name in chosen]
        wanted += runs.load_scenarios(study, in_curve, _loads(study))
    if not asked.quick and _rigid(study):
        wanted += runs.share_scenarios(study, runs.SHARES, asked.seed)
    return wanted


def _loads(study: Study) -> list[float]:
    # Points of the curve: usual loads, and today's.
    if not study.load > 0.0:
        return list(runs.LOADS)
    apart = all(abs(load / study.load - 1.0) > _SAME for load in runs.LOADS)
    return sorted([*runs.LOADS, study.load] if apart else runs.LOADS)


def _compared(study: Study, asked: Asked) -> list[str]:
    # Policies that are compared with the record.
    if study.schedule is None:
        return []
    tried = list(_MAY_HAVE_RUN) if _rigid(study) else ["fifo", "fair"]
    return [asked.recorded_policy] if asked.recorded_policy else tried


class _Made:
    """Sections of the page from what was ``found`` by simulations; `base` are those at today's load."""

    def __init__(self, study: Study, asked: Asked, found: Mapping[runs.Key, runs.Found]) -> None:
        self.study, self.asked, self.subject, self.found = study, asked, asked.subject, found
        self.base = {key[1]: own for key, own in found.items() if key[0] == "base"}
        self.fair = best_fair({name: own.metrics for name, own in self.base.items()})
        self.trust = self._trust()
        self.ran = next((row["policy"] for row in self.trust["rows"]), None)
        self.shown = self._shown(asked.policies or ())
        if _rigid(study) and self.shown:
            self.subject = self._best()
        known = {RECORDED: study.schedule} | {name: self.base[name].schedule for name in self.shown}
        self.schedules = {name: own for name, own in known.items() if own is not None}
        self.busy = {name: _busy_slots(study, self.base[name].series) for name in self.shown}
        if study.record is not None:
            self.busy[RECORDED] = study.record.time, study.record.slots[:-1]
        self.baseline = self._baseline()

    def _baseline(self) -> str | None:
        # The record, the best FAIR, or the first other policy; for rigid jobs what ran, or EASY.
        if _rigid(self.study):
            return self.ran or ("easy" if "easy" in self.shown else self.shown[0])
        # otherwise the policy would be compared with itself
        own = self.asked.recorded_policy == self.subject
        if self.study.schedule is not None and self.study.waits_tell and not own:
            return RECORDED
        if self.fair not in (None, self.subject):
            return self.fair
        return next((name for name in self.shown if name != self.subject), None)

    def _shown(self, policies: Collection[str]) -> list[str]:
        # Rows of the table: only the best of FAIR's settings; for rigid jobs also what ran.
        wanted = [self.fair, *(name for name in policies if not is_fair(name))]
        if _rigid(self.study):
            wanted.insert(0, self.ran)
        return [name for name in dict.fromkeys(wanted) if name is not None and name in self.base]

    def _best(self) -> str:
        # For rigid jobs: the policy with the least mean response; what ran, if no policy is clearly better.
        mean = {name: self.base[name].metrics["mean_response"] for name in self.shown}
        best = min(self.shown, key=lambda name: mean[name])
        base = self.ran or ("easy" if "easy" in mean else best)
        return best if mean[best] < (1.0 - _ALIKE) * mean[base] else base

    def head(self) -> dict[str, Any]:
        study = self.study
        return {
            "kind": "trace",
            "title": " and ".join(each["name"] for each in study.files[:3]),
            **fields_of(study, "files", "format", "slots", "load"),
            "command": self.asked.command,
            "version": _core.__version__,
            "jobs": len(study.units),
            "counted": int(study.units.counted.sum()),
            "tasks": int(study.jobs.maps.sum() + study.jobs.reduces.sum()),
            "work": float(study.units.work.sum()),
            "span": float(np.ptp(study.units.arrival)) if len(study.units) else 0.0,
            "cluster": repr(study.cluster),
            **fields_of(self, "subject", "fair", "baseline"),
            "compared": len(study.units) > 1,
            "rigid": _rigid(study),
            "slots_told": None if study.known_slots is None else study.known_slots.sentence,
            **fields_of(study, "warnings", "assumed", "skipped"),
            "seed": self.asked.seed,
            "table": {"rows": self._table()},
            "trust": self.trust,
        }

    def compared(self) -> dict[str, Any]:
        # The baseline and the subject, job by job.
        units, schedules = self.study.units, self.schedules
        before, after = (schedules.get(name or "") for name in (self.baseline, self.subject))
        if before is None or after is None:
            return {"changes": None, "groups": [], "movers": []}
        beside = dict.fromkeys([RECORDED, self.baseline, self.fair, self.subject])
        shown = {name: schedules[name] for name in beside if name is not None and name in schedules}
        return {
            "changes": changes(units, before, after),
            "groups": by_group(units, shown, self.baseline or "", self.subject),
            "movers": movers(units, before, after),
        }

    def _table(self) -> list[dict[str, Any]]:
        study = self.study
        rows = []
        for name, own in self.schedules.items():
            time, slots = self.busy[name]
            last = min(most_of(own.end[np.isfinite(own.end)]), most_of(time))
            figures = metrics(study.units, own) | _use(study, time, slots, last)
            kind = RECORDED if name == RECORDED else "simulated"
            rows.append({"policy": name, "kind": kind, **figures})
        bound = mean_bound(study.jobs, study.cluster, study.units)
        if math.isfinite(bound) and bool(study.units.counted.all()):
            rows.append({"policy": BOUND, "kind": BOUND, "mean_response": bound})
        return rows

    def _trust(self) -> dict[str, Any]:
        study = self.study
        if study.schedule is None:
            told = "The file does not say when jobs ran, so no simulation can be compared with what happened."
            return {"recorded": False, "missing": told, "rows": []}
        names = [name for name in self.base if name in _compared(study, self.asked)]
        rows = [{"policy": name, **_distance(study, self.base[name])} for name in names]
        rows.sort(key=lambda row: (row["off"], -row["within_fifth"]))
        return {
            "recorded": True,
            "waits_tell": study.waits_tell,
            "recorded_policy": self.asked.recorded_policy,
            "rows": rows,
            "doubt": _doubt(study, rows),
        }

    def curve(self, loads: bool) -> dict[str, Any]:
        told: dict[str, Any] = {"today": self.study.load, "missing": None}
        if loads:
            told["loads"] = [self._at_load(load) for load in _loads(self.study)]
        elif not self.asked.quick:
            told["missing"] = (
                "All jobs come at one time: there is no load (--spread SECONDS spreads them)."
            )
        if not self.asked.quick and _rigid(self.study):
            told["shares"] = [
                {"share": key[1], "mean_response": own.metrics["mean_response"]}
                for key, own in self.found.items()
                if key[0] == "share"
            ]
        return told

    def _at_load(self, load: float) -> dict[str, Any]:
        own = {
            key[2]: found.metrics for key, found in self.found.items() if key[:2] == ("load", load)
        }
        best = best_fair(own)
        keep = ("mean_response", "p95_response", "longest_wait")
        return {
            "load": load,
            "fair": best,
            "policies": {
                "fair" if name == best else name: {part: figures[part] for part in keep}
                for name, figures in own.items()
                if name == best or not is_fair(name)
            },
        }


def _first(study: Study) -> float:
    return max(float(study.units.arrival.min()), study.since) if len(study.units) else 0.0


def _use(study: Study, time: Floats, slots: Floats, last: float) -> dict[str, float]:
    # The mean number of idle slots from the first arrival to the last end, and the share that is in use;
    # ``slots``: those in use between two of these times.
    first, idle = _first(study), math.nan
    if last > first:
        begin, end = _steps(time, slots, np.array([first, last]))
        idle = study.slots - float(end - begin) / (last - first)
    return {"idle_slots": idle, "utilisation": 1.0 - idle / max(study.slots, 1)}


def _doubt(study: Study, rows: Sequence[Mapping[str, Any]]) -> str | None:
    # Why the nearest simulation does not show that simulations can be believed; None if it does.
    jobs = int(study.units.counted.sum())
    if not rows:
        return "no simulation has the policy that ran"
    if jobs < _ENOUGH:
        return f"the page counts {counted(jobs, 'job')}, and fewer than {_ENOUGH} tell nothing"
    nearest = rows[0]
    if not nearest["mean_ratio"] or not _NEAR[0] <= nearest["mean_ratio"] <= _NEAR[1]:
        return "its mean response differs too much"
    part, least = _NEAR_WAIT
    for name, what in _WAITS.items():
        real, made = nearest[f"recorded_{name}"], nearest[name]
        if abs(made - real) > max(part * real, least * nearest["recorded_mean_response"]):
            return f"{what} of the waits differs too much"
    return None


def _distance(study: Study, found: runs.Found) -> dict[str, Any]:
    # How far a simulation is from the record; ``median_factor``: between responses of one job.
    assert study.schedule is not None and found.schedule is not None
    recorded = metrics(study.units, study.schedule)
    own = found.metrics
    arrival = study.units.arrival
    rows = np.flatnonzero(study.units.counted & np.isfinite(found.schedule.end))
    real = study.schedule.end[rows] - arrival[rows]
    made = found.schedule.end[rows] - arrival[rows]
    some = (real > 0.0) & (made > 0.0)
    factor = np.exp(np.abs(np.log(made[some] / real[some])))
    return {
        "mean_response": own["mean_response"],
        "recorded_mean_response": recorded["mean_response"],
        "mean_ratio": ratio(own["mean_response"], recorded["mean_response"]),
        "p95_ratio": ratio(own["p95_response"], recorded["p95_response"]),
        **{name: own[name] for name in _WAITS},
        **{f"recorded_{name}": recorded[name] for name in _WAITS},
        "off": _off(own, recorded),
        "median_factor": float(np.median(factor)) if len(factor) else math.nan,
        "within_fifth": mean_of((factor <= 1.2).astype(np.float64)),
    }


def _off(own: Mapping[str, float], recorded: Mapping[str, float]) -> float:
    # How far a simulation's responses and waits are from the record's, over the mean response.
    parts = [own[name] - recorded[name] for name in ("mean_response", *_WAITS)]
    off = math.fsum(abs(part) for part in parts) / max(recorded["mean_response"], 1e-300)
    return math.inf if math.isnan(off) else off


def _over_time(
    study: Study, schedules: Mapping[str, Schedule], busy: Mapping[str, tuple[Floats, Floats]]
) -> dict[str, Any]:
    # Jobs in the system and slots in use: means over windows of time.
    arrival = study.units.arrival
    ends = [own.end[np.isfinite(own.end)] for own in schedules.values()]
    last = max((float(own.max()) for own in ends if len(own)), default=0.0)
    first = _first(study)
    if not last > first:
        told = "All jobs start and end at one time: there is nothing to draw."
        return {"missing": told, "time": [], "policies": {}}
    edges = np.linspace(first, last, _WINDOWS + 1)
    found = {}
    for name, own in schedules.items():
        known = np.isfinite(own.end)
        came, ended, one = arrival[known], np.maximum(own.end, arrival)[known], np.ones(known.sum())
        inside = ramp(came, one, edges) - ramp(ended, one, edges)
        used = _steps(*busy[name], edges)
        width = edges[1] - edges[0]
        found[name] = {
            "jobs": np.maximum(np.diff(inside) / width, 0.0).round(6).tolist(),
            "slots": np.clip(np.diff(used) / width, 0.0, study.slots).round(6).tolist(),
        }
    return {"missing": None, "time": edges.tolist(), "slots": study.slots, "policies": found}


def ramp(times: Floats, values: Floats, edges: Floats) -> Floats:
    # The integral up to each edge of steps: at each of ``times`` the sum rises by its value. O(n log n).
    order = np.argsort(times, kind="stable")
    sorted_times, own = times[order], values[order]
    sums = np.concatenate([[0.0], np.cumsum(own)])
    weighted = np.concatenate([[0.0], np.cumsum(own * sorted_times)])
    before = np.searchsorted(sorted_times, edges)
    found: Floats = sums[before] * edges - weighted[before]
    return found


def _steps(time: Floats, slots: Floats, edges: Floats) -> Floats:
    # The integral up to each edge of slots that stay the same between two of these times.
    whole = np.concatenate([[0.0], np.cumsum(slots * np.diff(time))])
    found: Floats = np.interp(edges, time, whole)
    return found


def _busy_slots(study: Study, series: Mapping[str, Any]) -> tuple[Floats, Floats]:
    # Times, and the slots in use between two of them.
    maps, reduces = (np.nan_to_num(series[f"{pool}_utilisation"]) for pool in ("map", "reduce"))
    place = study.cluster
    return series["time"], maps * place.map_slots.sum() + reduces * place.reduce_slots.sum()
