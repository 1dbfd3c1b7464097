"""A pilot: a process on another machine that the queue of an engine starts, and that then runs commands, or
Python calls, for the engine.

It connects to the engine; both show that they know the secret of the run (``MALLEABLE_SECRET``). A pilot of
commands is a supervisor with one slot from then on (``supervisor.py``), and a pilot of calls talks as one:
batches of tuples, which begin with a word. It gets ``("path", path)`` with ``sys.path``, ``("start", key,
function, arguments)``, ``("back",)``, which takes calls back that have not begun, and ``("kill", key)``, which
ends the process if this call runs. It sends ``("ended", key, good, result, seconds)`` and ``("returned", key,
"")``. It imports little, because a start is most of its cost.
"""

# ruff: noqa: PTH120
# pathlib takes longer to import than everything else here.
from __future__ import annotations

import os
import socket
import sys
from collections import deque
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING or __name__ != "__main__":
    from malleable.live.engines.process import supervisor
    from malleable.live.engines.process.child import READ, Frames
else:  # in a process without packages
    sys.path.insert(0, os.path.dirname(__file__))
    import supervisor
    from child import READ, Frames
if TYPE_CHECKING:
    from typing import Any

SECRET = "MALLEABLE_SECRET"
HALF = 32  # bytes of each half of the secret: the pilot shows the first, the engine the second


def heard(connection: socket.socket, most: int = READ) -> bytes:
    # What the other side has sent; EOFError if it is gone.
    data = connection.recv(most)
    if not data:
        raise EOFError
    return data


def read(connection: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        found += heard(connection, count - len(found))
    return found


def run_calls(connection: socket.socket) -> None:
    """Run calls, one after the other, until the engine is gone; a second thread hears it meanwhile."""
    import threading

    left: deque[tuple[str, Any]] = deque()  # keys and calls that have not begun
    changed = threading.Condition()  # held to change what is here, and to send
    runs, over = "", False  # key of the call that runs; whether the engine is gone

    def tell(*said: Any) -> None:
        connection.sendall(supervisor.pack([said]))

    def obey(verb: str, *what: Any) -> None:
        if verb == "path":
            sys.path[:] = what[0]
        elif verb == "start":
            left.append((what[0], what[1:]))
        elif verb == "back":
            while left:
                tell("returned", left.pop()[0], "")
        elif what == (runs,):  # it is to be killed
            supervisor.kill_below(os.getpid())
            os._exit(1)

    def listen() -> None:
        nonlocal over
        frames = Frames()
        with suppress(OSError, EOFError):
            while True:
                data = heard(connection)
                with changed:
                    for command in supervisor.unpack(frames, data):
                        obey(*command)
                    changed.notify()
        with changed:
            if runs:
                os._exit(1)
            over = True
            changed.notify()

    threading.Thread(target=listen, daemon=True).start()
    while True:
        with changed:
            changed.wait_for(lambda: left or over)
            if over:
                return
            runs, call = left.popleft()
        from malleable.live.engines.remote import outcome

        found = outcome(call)
        with changed:
            tell("ended", runs, *found)
            runs = ""


def main(host: str, port: str, what: str) -> None:
    secret = bytes.fromhex(os.environ.pop(SECRET))
    connection = socket.create_connection((host, int(port)))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(secret[:HALF])
    if read(connection, HALF) != secret[HALF:]:
        sys.exit("this engine did not start the process")
    if what == "calls":
        run_calls(connection)
    else:
        supervisor.main(connection.detach(), 1, os.urandom(8).hex(), pause=0.0)


if __name__ == "__main__":
    main(*sys.argv[1:])
