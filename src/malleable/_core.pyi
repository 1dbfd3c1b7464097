from typing import Any

import numpy as np
import numpy.typing as npt

_Floats = npt.NDArray[np.float64]
_Integers = npt.NDArray[np.int64]

ALL_SLOTS: int
MOST_SLOTS: int
KNAPSACK_EFFORT: int
DEFAULT_EFFORT: int
MOST_DEADLINE_PACKED: int

class Penalties:
    def __init__(
        self,
        arrival: _Floats,
        size: _Floats,
        weight: _Floats,
        deadline: _Floats,
        sla_offset: _Integers,
        sla_time: _Floats,
        sla_penalty: _Floats,
        kinds: npt.NDArray[np.uint8],
        custom: int = 0,
    ) -> None: ...
    def __len__(self) -> int: ...
    def of_jobs(self, completion: _Floats) -> _Floats: ...

class TandemQueue:
    def __init__(
        self,
        policy: str,
        conserving: bool,
        overlap: bool,
        records: bool,
        weighted: bool,
        most_mapping: int,
        buckets: int,
        bucket_width: float,
    ) -> None: ...
    def feed(self, arrival: _Floats, map: _Floats, shuffle: _Floats, weight: _Floats) -> None: ...
    def advance(self, until: float) -> None: ...
    def totals(self) -> dict[str, Any]: ...
    def take_records(self) -> tuple[_Integers, _Floats, _Floats, _Floats]: ...
    def slowdown(self) -> tuple[_Integers, _Floats]: ...
    def response_histogram(self) -> _Integers: ...
    def running(self) -> tuple[_Integers, _Floats, _Floats]: ...

class SrptBound:
    def __init__(self) -> None: ...
    def feed(self, arrival: _Floats, map: _Floats, shuffle: _Floats) -> None: ...
    def total(self) -> float: ...

class Epoch:
    def __init__(
        self,
        slots: int,
        is_max: bool,
        kind: int,
        policy: str,
        gang: bool,
        hysteresis: float,
        effort: int | None,
    ) -> None: ...
    def __len__(self) -> int: ...
    @property
    def slots(self) -> int: ...
    @property
    def version(self) -> int: ...
    def add(
        self,
        arrival: _Floats,
        work: _Floats,
        min_slots: _Integers,
        max_slots: _Integers,
        weight: _Floats,
        deadline: _Floats,
        sla_offset: _Integers,
        sla_time: _Floats,
        sla_penalty: _Floats,
        size: _Floats,
    ) -> _Integers: ...
    def update(
        self,
        ids: _Integers,
        work: _Floats | None,
        min_slots: _Integers | None,
        max_slots: _Integers | None,
        weight: _Floats | None,
        deadline: _Floats | None,
    ) -> None: ...
    def remove(self, ids: _Integers) -> None: ...
    def decide(
        self, now: float, slots: int | None
    ) -> tuple[_Integers, _Integers, npt.NDArray[np.bool_]]: ...
    def plan(self) -> tuple[dict[str, Any], dict[str, Any]]: ...

def validate_jobs(
    arrival: _Floats,
    work: _Floats,
    min_slots: _Integers,
    max_slots: _Integers,
    weight: _Floats,
    deadline: _Floats,
    sla_offset: _Integers,
    sla_time: _Floats,
    sla_penalty: _Floats,
) -> None: ...
def validate_slots(slots: int) -> None: ...
def plan(
    work: _Floats,
    arrival: _Floats,
    min_slots: _Integers,
    max_slots: _Integers,
    weight: _Floats,
    slots: int,
    now: float,
    gang: bool,
    penalties: Penalties,
    is_max: bool,
    policy: str,
    effort: int,
    budget: float,
) -> dict[str, Any]: ...
def resource_allocation(
    arrival: _Floats,
    work: _Floats,
    min_slots: _Integers,
    max_slots: _Integers,
    slots: int,
    now: float,
    gang: bool,
    penalties: Penalties,
    is_max: bool,
    effort: int,
    table_offset: _Integers | None = None,
    table_slots: _Integers | None = None,
    table_duration: _Floats | None = None,
) -> tuple[_Integers, float, float, bool]: ...
def malleable_packing(
    work: _Floats,
    min_slots: _Integers,
    max_slots: _Integers,
    slots: int,
    gang: bool,
    order: _Integers,
) -> _Floats: ...
def waterline(
    min_slots: _Integers, max_slots: _Integers, slots: int, weight: _Floats, gang: bool
) -> _Integers: ...

FLOW_EFFORT: int

def default_flow_effort(jobs: int) -> int: ...
def validate_flows(
    arrival: _Floats,
    weight: _Floats,
    deadline: _Floats,
    sla_offset: _Integers,
    sla_time: _Floats,
    sla_penalty: _Floats,
    job_offset: _Integers,
    work: _Floats,
    max_slots: _Integers,
    parent_offset: _Integers,
    parent: _Integers,
) -> _Integers: ...
def plan_flows(
    arrival: _Floats,
    job_offset: _Integers,
    work: _Floats,
    max_slots: _Integers,
    parent_offset: _Integers,
    parent: _Integers,
    slots: int,
    now: float,
    penalties: Penalties,
    is_max: bool,
    policy: str,
    effort: int,
    budget: float,
    warm: _Integers,
    hysteresis: float = ...,
) -> dict[str, Any]: ...
def flow_chains(
    job_offset: _Integers,
    work: _Floats,
    max_slots: _Integers,
    parent_offset: _Integers,
    parent: _Integers,
    slots: int,
) -> dict[str, Any]: ...
def deadline_greedy(
    arrival: _Floats,
    job_offset: _Integers,
    work: _Floats,
    max_slots: _Integers,
    parent_offset: _Integers,
    parent: _Integers,
    slots: int,
    now: float,
    order: _Integers,
) -> dict[str, Any]: ...
def wrap_around(
    arrival: _Floats,
    job_offset: _Integers,
    work: _Floats,
    max_slots: _Integers,
    parent_offset: _Integers,
    parent: _Integers,
    slots: int,
    now: float,
    flow: _Integers,
    offset: _Integers,
    pseudo_job: _Integers,
    start: _Floats,
    end: _Floats,
    held: _Integers,
) -> dict[str, Any]: ...
def ready_list(
    arrival: _Floats,
    job_offset: _Integers,
    work: _Floats,
    max_slots: _Integers,
    parent_offset: _Integers,
    parent: _Integers,
    slots: int,
    now: float,
    rank: _Integers,
) -> dict[str, Any]: ...
def min_cost_flow(
    volume: _Floats,
    time: _Floats,
    room: _Floats,
    offset: _Integers,
    from_cell: _Integers,
    value: _Floats,
    slope: _Floats,
) -> dict[str, Any]: ...
