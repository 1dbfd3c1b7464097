from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt
from typing_extensions import Self

_Floats = npt.NDArray[np.float64]
_Integers = npt.NDArray[np.int64]
_Bools = npt.NDArray[np.bool_]
_Codes = npt.NDArray[np.uint8]
_Columns = Mapping[str, Any]  # by name

ALL_SLOTS: int
MOST_SLOTS: int
LATEST_TIME: float
WORK: Range
LEFT: Range
TOTAL: Range
WEIGHT: Range
RATE: Range
BYTES: Range
BOUNDS: tuple[str, ...]
KNAPSACK_EFFORT: int
DEFAULT_EFFORT: int

def default_effort(jobs: int) -> int: ...

MOST_DEADLINE_PACKED: int

__version__: str

class Policy:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def family(self) -> str: ...
    @property
    def shares(self) -> str: ...
    @property
    def needs_sizes(self) -> bool: ...
    @property
    def follows_objective(self) -> bool: ...
    @property
    def depends_on_time(self) -> bool: ...
    @property
    def ignores_minima(self) -> bool: ...
    @property
    def in_loop(self) -> bool: ...
    @property
    def preemptive_only(self) -> bool: ...
    @property
    def may_idle(self) -> bool: ...
    @property
    def batches_only(self) -> bool: ...
    @property
    def guaranteed(self) -> bool: ...

POLICIES: dict[str, dict[str, Policy]]

class Kind:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def needs_deadline(self) -> bool: ...
    @property
    def uses_sla(self) -> bool: ...
    @property
    def steady(self) -> bool: ...
    @property
    def per_size(self) -> bool: ...
    @property
    def endless(self) -> bool: ...
    @property
    def custom(self) -> bool: ...

KINDS: tuple[Kind, ...]

class Turn:
    def __init__(self) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *args: Any) -> None: ...

class Range:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    @property
    def least(self) -> float: ...
    @property
    def most(self) -> float: ...
    @property
    def zero(self) -> bool: ...
    @property
    def text(self) -> str: ...
    def check(self, field: str, values: _Floats) -> None: ...

def check_times(field: str, values: _Floats) -> None: ...

class _Table:
    COLUMNS: tuple[str, ...]
    @overload
    def __init__(self, table: Self) -> None: ...
    @overload
    def __init__(self, columns: _Columns) -> None: ...
    @property
    def work(self) -> _Floats: ...
    @property
    def max_slots(self) -> _Integers: ...
    @property
    def arrival(self) -> _Floats: ...
    @property
    def weight(self) -> _Floats: ...
    @property
    def deadline(self) -> _Floats: ...
    @property
    def size(self) -> _Floats: ...
    @property
    def sla_offset(self) -> _Integers: ...
    @property
    def sla_time(self) -> _Floats: ...
    @property
    def sla_penalty(self) -> _Floats: ...
    def _take(self, rows: _Integers) -> Self: ...

class Jobs(_Table):
    @property
    def min_slots(self) -> _Integers: ...

class Flows(_Table):
    @property
    def job_offset(self) -> _Integers: ...
    @property
    def parent_offset(self) -> _Integers: ...
    @property
    def parent(self) -> _Integers: ...
    @staticmethod
    def _cycle(columns: _Columns) -> _Integers: ...
    @staticmethod
    def _joined(tables: list[Flows]) -> Flows: ...

class Penalties:
    def __init__(
        self, table: Jobs | Flows, kinds: npt.NDArray[np.uint8], custom: int = 0
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
        estimated: bool,
        bounce: bool,
        most_mapping: int,
        buckets: int,
        bucket_width: float,
    ) -> None: ...
    def feed(
        self,
        arrival: _Floats,
        map: _Floats,
        shuffle: _Floats,
        weight: _Floats,
        map_estimate: _Floats,
        shuffle_estimate: _Floats,
        map_place: _Floats,
        shuffle_place: _Floats,
    ) -> None: ...
    def advance(self, until: float) -> None: ...
    def summary(self) -> dict[str, Any]: ...
    @property
    def total_response(self) -> float: ...
    def take_records(self) -> tuple[_Integers, _Floats, _Floats, _Floats]: ...
    def slowdown(self) -> tuple[_Integers, _Floats]: ...
    def state(self) -> tuple[_Integers, _Floats, _Floats, _Floats]: ...
    def running(self) -> tuple[_Integers, _Floats, _Floats]: ...

class SlottedSim:
    def __init__(
        self, machines: int, policy: str, preemptive: bool, records: bool, bounce: bool
    ) -> None: ...
    def feed(
        self,
        arrival: _Integers,
        map: _Integers,
        task_offset: _Integers,
        task: _Integers,
        estimate: _Floats | None,
    ) -> None: ...
    def advance(self, last: int) -> None: ...
    def summary(self) -> dict[str, Any]: ...
    def take_records(self) -> tuple[_Integers, _Integers, _Integers, _Integers]: ...
    def slowdown(self) -> tuple[_Integers, _Floats]: ...

class SlottedEpoch:
    def __init__(self, slots: int, slot_seconds: float, policy: str) -> None: ...
    def __len__(self) -> int: ...
    @property
    def slots(self) -> int: ...
    def add(
        self,
        arrival: _Floats,
        maps: _Integers,
        reduces: _Integers,
        running: _Integers,
        map_left: _Floats | None,
        reduce_left: _Floats,
    ) -> _Integers: ...
    def update(
        self,
        ids: _Integers,
        maps: _Integers | None,
        reduces: _Integers | None,
        running: _Integers | None,
        map_left: _Floats | None,
        reduce_left: _Floats | None,
    ) -> None: ...
    def remove(self, ids: _Integers, cancelled: bool) -> None: ...
    def decide(
        self, now: float, slots: int | None
    ) -> tuple[_Integers, _Integers, _Bools, _Integers, _Integers, _Codes]: ...

def validate_cluster_jobs(columns: dict[str, Any]) -> None: ...
def validate_map_reduce(
    arrival: _Integers, map: _Integers, task_offset: _Integers, task: _Integers
) -> None: ...
def srpt_finish(
    arrival: _Integers,
    map: _Integers,
    task_offset: _Integers,
    task: _Integers,
    machines: int,
) -> tuple[_Integers, int]: ...
def overlap_makespan(map: _Floats, shuffle: _Floats) -> tuple[_Integers, _Floats]: ...
def overlap_batch_bound(map: _Floats, shuffle: _Floats) -> float: ...

class TandemBatch:
    def __init__(self, map: _Floats, shuffle: _Floats) -> None: ...
    def search(self, candidates: int) -> None: ...
    @property
    def value(self) -> float: ...
    @property
    def lower_bound(self) -> float: ...
    @property
    def max_srpt(self) -> float: ...
    @property
    def split_srpt(self) -> float: ...
    @property
    def origin(self) -> str: ...
    @property
    def tried(self) -> int: ...
    def plan(self) -> tuple[str, _Floats, _Floats]: ...

class OverlapEpoch:
    def __init__(
        self,
        policy: str,
        conserving: bool,
        bounce: bool,
        map_slots: int,
        shuffle_slots: int,
    ) -> None: ...
    @property
    def slots(self) -> tuple[int, int]: ...
    def __len__(self) -> int: ...
    def add(
        self,
        arrival: _Floats,
        map: _Floats,
        shuffle: _Floats,
        ready: _Floats | None,
        max_map_slots: _Floats | None,
        max_shuffle_slots: _Floats | None,
    ) -> _Integers: ...
    def update(
        self,
        ids: _Integers,
        map: _Floats | None,
        shuffle: _Floats | None,
        ready: _Floats | None,
        max_map_slots: _Floats | None,
        max_shuffle_slots: _Floats | None,
    ) -> None: ...
    def remove(self, ids: _Integers) -> None: ...
    def decide(
        self, now: float, slots: tuple[int, int] | None
    ) -> tuple[_Integers, _Integers, _Bools, _Floats, _Codes]: ...

class ClusterState:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    @property
    def now(self) -> float: ...
    @property
    def present(self) -> _Integers: ...
    @property
    def jobs(self) -> int: ...
    @property
    def nodes(self) -> int: ...
    @property
    def slots(self) -> tuple[int, int]: ...
    @property
    def size(self) -> _Floats: ...
    @property
    def user(self) -> _Integers: ...
    @property
    def user_running(self) -> _Integers: ...
    @property
    def total(self) -> _Integers: ...
    @property
    def waiting(self) -> _Integers: ...
    @property
    def running(self) -> _Integers: ...
    @property
    def finished(self) -> _Integers: ...
    @property
    def estimate(self) -> _Floats: ...
    @property
    def ready(self) -> npt.NDArray[np.bool_]: ...
    def eligible(self, job: int, phase: int) -> bool: ...
    def local(self, job: int, node: int) -> bool: ...
    def demand(self, pool: int) -> dict[str, Any]: ...

class ClusterPolicy:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

class ClusterFifo(ClusterPolicy):
    def __init__(self) -> None: ...

class ClusterEpoch(ClusterPolicy):
    def __init__(
        self,
        policy: str,
        is_max: bool,
        kind: int,
        hysteresis: float,
        effort: int | None,
        at_least_one: bool,
        by_user: bool,
        gang: bool,
        pool_minimum: float,
    ) -> None: ...

class ClusterSrpt(ClusterPolicy):
    def __init__(
        self,
        policy: str,
        speedup: float,
        rates: list[float],
        exponents: list[float],
        useful: list[int],
        by_user: bool,
    ) -> None: ...

class ClusterFlow(ClusterPolicy):
    def __init__(
        self, policy: str, is_max: bool, kind: int, effort: int, by_user: bool
    ) -> None: ...

class ClusterAdaptive(ClusterPolicy):
    def __init__(
        self, options: dict[str, Any], solve: Any, grouped: bool, placement: bool
    ) -> None: ...
    def matching(self, now: float) -> dict[str, Any]: ...

class AdaptiveEpoch:
    def __init__(
        self,
        map_slots: _Integers,
        reduce_slots: _Integers,
        rate: _Floats,
        storage: _Floats,
        resource: _Integers,
        generic: bool,
        users: Sequence[tuple[float, float]],
        options: dict[str, Any],
        solve: Any,
    ) -> None: ...
    def __len__(self) -> int: ...
    def add(
        self,
        users: Sequence[tuple[float, float]],
        classes: int,
        job_class: _Integers,
        user: _Integers,
        maps: _Integers,
        reduces: _Integers,
        arrival: _Floats,
        map_seconds: _Floats,
        reduce_seconds: _Floats,
        block: _Floats,
        blocks: Sequence[_Integers | None] | None,
    ) -> _Integers: ...
    @property
    def known(self) -> tuple[int, int]: ...
    def set_blocks(self, id: int, nodes: _Integers) -> None: ...
    def update(
        self,
        ids: _Integers,
        maps: _Integers | None,
        reduces: _Integers | None,
        map_seconds: _Floats | None,
        reduce_seconds: _Floats | None,
    ) -> None: ...
    def maps(self, id: int) -> int: ...
    def ended(
        self,
        ids: _Integers,
        phase: _Integers,
        node: _Integers,
        task: _Integers,
        seconds: _Floats,
        end: _Floats | None,
        done: Any,
    ) -> None: ...
    def remove(self, ids: _Integers) -> None: ...
    def decide(
        self, now: float, map_slots: _Integers, reduce_slots: _Integers
    ) -> tuple[
        _Integers,
        _Integers,
        _Bools,
        _Codes,
        tuple[_Integers, _Integers, _Integers, _Integers],
    ]: ...
    def place(self, id: int, blocks: int, copies: int) -> _Integers: ...
    def match(self, now: float) -> None: ...
    def matching(self, now: float | None) -> dict[str, Any]: ...
    def counts(self, ids: _Integers) -> dict[str, _Integers]: ...

class ClusterCallback(ClusterPolicy):
    def __init__(
        self, policy: Any, style: str, depends_on_time: bool, listens: bool, whole: bool
    ) -> None: ...

class CompiledPolicy(ClusterPolicy):
    def __init__(self, address: int, depends_on_time: bool, owner: Any) -> None: ...

EVENT_CALLS: tuple[str, ...]
EVENT_COLUMNS: tuple[str, ...]

def replay(
    calls: bytes, at: int, fresh: Scheduler, other: Scheduler | None
) -> tuple[int, int, int, bool, int, float]: ...

class Scheduler:
    def __init__(
        self,
        cluster: dict[str, Any],
        users: list[tuple[float, float]],
        options: dict[str, Any],
        policy: ClusterPolicy,
    ) -> None: ...
    def __len__(self) -> int: ...
    def add(
        self, users: list[tuple[float, float]], columns: dict[str, Any], now: float
    ) -> _Integers: ...
    def tell(self, what: str, columns: dict[str, Any], now: float) -> int: ...
    def observe(self, ids: _Integers, columns: dict[str, Any], now: float) -> None: ...
    def update(
        self,
        ids: _Integers,
        users: list[tuple[float, float]],
        columns: dict[str, Any],
        now: float,
    ) -> None: ...
    def set_users(
        self, users: _Integers, people: list[tuple[float, float]], now: float
    ) -> None: ...
    def set_slots(
        self,
        nodes: _Integers,
        map_slots: _Integers | None,
        reduce_slots: _Integers | None,
        now: float,
    ) -> None: ...
    def set_blocks(self, id: int, nodes: _Integers) -> None: ...
    def finish(self, ids: _Integers, now: float) -> None: ...
    def remove(self, ids: _Integers, now: float) -> None: ...
    def decide(self, now: float) -> tuple[_Integers, _Integers, _Bools, _Codes, _Floats]: ...
    def assign(
        self, now: float, map_slots: _Integers, reduce_slots: _Integers
    ) -> tuple[_Integers, _Integers, _Integers, _Integers]: ...
    def counts(self, ids: _Integers) -> dict[str, Any]: ...
    @property
    def users(self) -> int: ...
    @property
    def now(self) -> float: ...
    @property
    def next(self) -> float: ...
    def save(self) -> bytes: ...
    def load(self, state: bytes) -> None: ...

class ClusterSimulation:
    def __init__(
        self,
        cluster: dict[str, Any],
        jobs: dict[str, Any],
        options: dict[str, Any],
        changes: dict[str, Any],
        estimate: _Floats | None,
        policy: ClusterPolicy,
    ) -> None: ...
    def advance(self, until: float) -> None: ...
    def totals(self) -> dict[str, Any]: ...
    def records(self) -> dict[str, Any]: ...
    def latency(self) -> npt.NDArray[np.float32]: ...
    def trace(self) -> dict[str, Any]: ...
    def batches(self) -> dict[str, Any]: ...

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
    def add(self, jobs: Jobs, kind: npt.NDArray[np.uint8] | None) -> _Integers: ...
    def update(
        self,
        ids: Any,
        work: Any,
        min_slots: Any,
        max_slots: Any,
        weight: Any,
        deadline: Any,
        sla: _Columns | None,
    ) -> None: ...
    def remove(self, ids: Any) -> None: ...
    def set_penalty(self, address: int) -> None: ...
    def decide(
        self, now: float, slots: int | None
    ) -> tuple[int, _Integers, _Integers, npt.NDArray[np.bool_]]: ...
    def plan(self, version: int) -> tuple[dict[str, Any], Jobs, _Floats, npt.NDArray[np.uint8]]: ...
    def assess(self, version: int) -> tuple[float, float]: ...

class FlowEpoch:
    def __init__(
        self,
        slots: int,
        task_work: float,
        is_max: bool,
        policy: str,
        effort: int | None,
        hysteresis: float,
        ready_fraction: float,
    ) -> None: ...
    def __len__(self) -> int: ...
    @property
    def slots(self) -> int: ...
    def set_penalty(self, address: int) -> None: ...
    def add(
        self,
        flows: Flows,
        kind: npt.NDArray[np.uint8],
        tasks: _Integers | None,
        continues: _Integers | None,
        name: list[str],
    ) -> tuple[_Integers, _Integers]: ...
    def update(
        self,
        ids: _Integers,
        work: _Floats | None,
        tasks: _Integers | None,
        max_slots: _Integers | None,
        flows: _Integers,
        weight: _Floats | None,
        deadline: _Floats | None,
        sla: _Columns | None,
    ) -> None: ...
    def finish(self, ids: _Integers) -> None: ...
    def remove(self, ids: _Integers, flows: _Integers) -> None: ...
    def set_task_work(self, task_work: float) -> None: ...
    def decide(
        self, now: float, slots: int | None
    ) -> tuple[
        int, _Integers, _Integers, npt.NDArray[np.bool_], npt.NDArray[np.bool_], _Integers
    ]: ...
    def plan(
        self, version: int
    ) -> tuple[dict[str, Any], Flows, _Integers, list[str], npt.NDArray[np.uint8], _Floats]: ...

def validate_slots(slots: int) -> None: ...
def plan(
    jobs: Jobs,
    slots: int,
    now: float,
    gang: bool,
    penalties: Penalties,
    is_max: bool,
    policy: str,
    effort: int,
    budget: float,
    progress: Callable[[int, int], object] | None = None,
) -> dict[str, Any]: ...
def resource_allocation(
    jobs: Jobs,
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
def malleable_packing(jobs: Jobs, slots: int, gang: bool, order: _Integers) -> _Floats: ...
def waterline(jobs: Jobs, slots: int, weighted: bool, gang: bool) -> _Integers: ...

FLOW_EFFORT: int

def default_flow_effort(jobs: int) -> int: ...
def plan_flows(
    flows: Flows,
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
def flow_chains(flows: Flows, slots: int) -> dict[str, Any]: ...
def deadline_greedy(
    flows: Flows,
    slots: int,
    now: float,
    order: _Integers,
) -> dict[str, Any]: ...
def wrap_around(
    flows: Flows,
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
    flows: Flows,
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
