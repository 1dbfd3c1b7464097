"""Python calls as tasks of a Ray cluster: each Ray task is a bundle (short calls one after the other, or one
call). Large results stay where they were made. Ray starts tasks in an order of its own, so the cluster gets
only as many bundles as there are slots, and a few more if calls are short. A bundle costs some 0.5 ms here, a
call some 40 us."""

from __future__ import annotations

import math
import pickle
import time
from contextlib import suppress
from typing import Any

from malleable.files.advice import library
from malleable.live.engines.cluster import LOOK, Cluster
from malleable.live.engines.remote import GRAIN, Call, Reply, run_bundle, worded
from malleable.live.protocol import Abilities, Event


def _run(packed: bytes, function: bytes = b"") -> list[Reply]:
    # On a worker: run a bundle. Returns outcomes that are sent at once, and large results as objects.
    import ray

    return run_bundle(pickle.loads(packed), function, ray.put)[1]


class Ray(Cluster):
    """An engine that runs Python calls on a Ray cluster.

    Parameters
    ----------
    address : str, optional
        Address of a cluster, as for ``ray.init``. By default the cluster to which this process is connected.
        If it is connected to none, the engine starts a node on this machine and ends it with the pool.
    slots : int, optional
        Calls at once; by default as many as the cluster has room for (`resource`, `amount`).
    resource : str
        What a call takes: ``CPU``, ``GPU``, or a resource of your own.
    amount : float
        How much of the resource a call takes.
    **options
        More options of ``ray.remote``, such as ``runtime_env``, ``memory``, ``scheduling_strategy``.

    Raises
    ------
    ImportError
        ``ray`` is not installed.
    ValueError
        The engine itself sets this option, or a number is out of its range.
    OSError
        No cluster answers.

    Notes
    -----
    If a worker dies, its calls are repeated, each up to three times; then it fails with ``BrokenExecutor``.
    If the cluster goes away, all calls fail.
    """

    # A slot gets `GRAIN` seconds of calls at once, at most 200, and as many more as end within that time.
    abilities = Abilities(grain=GRAIN, ahead=GRAIN, together=200, calls="by value")

    def __init__(
        self,
        address: str | None = None,
        *,
        slots: int | None = None,
        resource: str = "CPU",
        amount: float = 1.0,
        **options: Any,
    ) -> None:
        own = {"num_cpus", "num_gpus", "num_returns", "name"} & options.keys()
        if own:
            raise ValueError(f"{min(own)}: the engine sets it; see resource and amount")
        if not (isinstance(amount, (int, float)) and 0.0 < amount < math.inf):
            raise ValueError(f"amount = {amount!r}: expected a number above 0")
        super().__init__("Ray", slots)
        self._ray = library("ray", "the Ray engine", "'malleable[ray]'")
        self._resource, self._amount = resource, float(amount)
        self._began = not self._ray.is_initialized()  # then this engine also ends it
        if self._began:
            try:
                self._ray.init(
                    address=address, log_to_driver=False, logging_level="ERROR",
                    include_dashboard=False if address is None else None,
                )  # fmt: skip
            except Exception as error:
                raise OSError(f"address = {address!r}: {worded(error)}") from error
        needs: dict[str, Any] = {"num_cpus": 0}
        if resource == "CPU":
            needs = {"num_cpus": amount}
        elif resource == "GPU":
            needs["num_gpus"] = amount
        else:
            needs["resources"] = {resource: amount}
        more = {"max_retries": 0, **options}
        self._remote = self._ray.remote(_run).options(num_returns=1, **needs, **more)
        self._count_slots()

    def _count_slots(self) -> None:
        self._looked = time.monotonic()
        try:
            total = self._ray.cluster_resources()
        except Exception as error:
            raise OSError(f"Ray does not answer: {worded(error)}") from error
        # calls for which the whole cluster has room
        self._there = int(total.get(self._resource, 0.0) / self._amount + 1e-9)
        self.slots = self._there if self._fixed is None else self._fixed

    def _send(self, calls: list[Call]) -> Any:
        packed, function = self._with_function(calls, self._ray.put)
        ref = self._remote.remote(pickle.dumps(packed), function)
        ref.future().add_done_callback(lambda future: self._said.put((ref, future)))
        return ref

    def _give_up(self, bundle: Any) -> None:
        with suppress(Exception):
            self._ray.cancel(bundle, force=False)

    def _look(self) -> None:
        if time.monotonic() - self._looked >= LOOK:
            try:
                self._count_slots()
            except OSError as error:
                self._break(str(error))
        super()._look()

    def _missing(self) -> str:
        return "" if self._there > 0 else f"no node of Ray has {self._amount:g} {self._resource}"

    def _heard(self, said: Any) -> list[Event]:
        # Events of a bundle: outcomes of its first calls, and the calls that were not begun.
        ref, future = said
        if ref not in self._bundles:
            return []
        errors, error = self._ray.exceptions, future.exception()
        lost = (errors.WorkerCrashedError, errors.NodeDiedError, errors.ObjectLostError,
                errors.OutOfMemoryError, errors.TaskCancelledError)  # fmt: skip
        if error is not None:
            return self._failed(ref, error, isinstance(error, lost))
        return self._told(ref, future.result(), lambda _, kept: self._ray.get(kept))

    def close(self, grace: float = 5.0) -> int:
        super().close(grace)
        if self._began:
            with suppress(Exception):
                self._ray.shutdown()
        return 0
