"""On a worker of Dask: calls that somebody may end while they run.

Dask itself lets a thread run on whose task is not wanted any more. So each such call runs in a child process of
its worker (`malleable.live.engines.process.apart`), and a plugin of the worker has the child killed as soon as
Dask takes the task back: the client released it, or is gone. If the worker closes or dies, all children end.
"""

from __future__ import annotations

import threading
from typing import Any

from malleable.live.engines.process.apart import Children
from malleable.live.engines.remote import Call, Outcome

_NAME = "malleable-children"
_RUNS = "executing", "long-running"  # states of tasks that run

_installing = threading.Lock()


class _Ending:
    """Ends calls whose tasks were taken back."""

    def __init__(self) -> None:
        self.children = Children()

    def transition(self, key: Any, start: str, finish: str, *more: Any, **named: Any) -> None:
        """A task goes from one state to another."""
        if finish == "released" and start in _RUNS:
            self.children.end(key)

    def teardown(self, worker: Any) -> None:
        """The worker closes."""
        self.children.close()


def _plugin(worker: Any) -> _Ending:
    """Of this worker; the first call installs it."""
    from distributed.diagnostics.plugin import WorkerPlugin
    from distributed.utils import sync

    with _installing:
        if _NAME not in worker.plugins:
            made = type("Ending", (_Ending, WorkerPlugin), {})()
            sync(worker.loop, worker.plugin_add, plugin=made, name=_NAME)
        found: _Ending = worker.plugins[_NAME]
        return found


def run_apart(topic: str, key: str, call: Call) -> Outcome:
    """What became of a call. First the client is told that it begins: from then on it ends here if its task is
    taken back."""
    from distributed import get_worker

    worker = get_worker()
    children = _plugin(worker).children
    children.expect(key)
    task = worker.state.tasks.get(key)
    if task is None or task.state not in _RUNS:  # it was taken back before
        children.end(key)
    worker.log_event(topic, [key, ""])
    return children.outcome(key, call)
