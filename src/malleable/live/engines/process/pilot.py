"""A pilot: a process on another machine that the queue of an engine starts, and that then runs commands, or
bundles of Python calls, for the engine.

It connects to the engine; both show that they know the secret of the run (``MALLEABLE_SECRET``). It imports
little, because a start is most of its cost: some 12 ms of a processor, each further command 1 ms.

Frames are a length and a marshalled tuple. From the engine: ``("run", number, commands)`` or ``("call",
number, path, calls)``, where ``number`` names the bundle and ``path`` is ``sys.path``; None at the end;
meanwhile ``("back", number)`` takes back work that has not begun, ``("end", number)`` also ends a running
command, ``("kill", number, place)`` one command, or a call with its process. ``place`` counts within the
bundle. Answers: ``("ended", place, ...)``, ``("returned", place)`` if it was not begun (with a text: the
machine had no room), ``("refused", place, text)``. If the engine is gone, everything ends.
"""

# ruff: noqa: PTH120
# pathlib takes longer to import than everything else here.
from __future__ import annotations

import marshal
import os
import select
import sys
import time
from _socket import AF_INET, AF_INET6, IPPROTO_TCP, SHUT_WR, SOCK_STREAM, TCP_NODELAY, socket

TYPE_CHECKING = False
if TYPE_CHECKING or __name__ != "__main__":
    from malleable.live.engines.process.child import HEAD, SHORT, framed, reaped, signal_all, spawn
else:  # in a process without packages
    sys.path.insert(0, os.path.dirname(__file__))
    from child import HEAD, SHORT, framed, reaped, signal_all, spawn
if TYPE_CHECKING:
    from signal import SIGKILL, SIGTERM
    from typing import Any
else:
    from _signal import SIGKILL, SIGTERM

SECRET = "MALLEABLE_SECRET"
HALF = 32  # bytes of each half of the secret: the pilot shows the first, the engine the second
_MARSHAL = 4  # version of marshal
_HEARD = 30.0  # seconds within which an engine must have read the last message
_SHORT = 1.0  # seconds until a command is returned for which the machine had no room


def read(connection: socket, count: int) -> bytes:
    found = bytearray()
    while len(found) < count:
        data = connection.recv(min(count - len(found), 1 << 20))
        if not data:
            raise EOFError
        found += data
    return bytes(found)


def send(connection: socket, value: Any) -> None:
    connection.sendall(framed(marshal.dumps(value, _MARSHAL)))


def receive(connection: socket) -> Any:
    return marshal.loads(read(connection, int.from_bytes(read(connection, HEAD), "little")))


def _ends(connection: socket, number: int, place: int, left: list[Any]) -> bool:
    # Whether the next message ends the command at this place; other messages are put back.
    what, about, *places = receive(connection)
    if about != number:
        return False  # it came too late
    while left:
        send(connection, ("returned", left.pop()[0]))
    return bool(what == "end" or (what == "kill" and places == [place]))


def run_command(
    connection: socket, number: int, place: int, command: tuple[Any, ...], left: list[Any]
) -> None:
    """Run a command until it ends, its time or the engine ends it, or the engine is gone (EOFError, OSError).
    ``number``: its bundle; ``left``: commands of this bundle that follow, unless the engine takes them back."""
    argv, environment, folder, *streams, seconds, grace = command
    began = time.monotonic()
    try:
        if folder:
            os.chdir(folder)
        pid = spawn(argv, {**os.environ, **environment}, streams)
    except (OSError, ValueError) as error:
        why = getattr(error, "errno", 0)
        if why in SHORT:
            select.select([connection.fileno()], [], [], _SHORT)
            send(connection, ("returned", place, os.strerror(why)))
        else:
            send(connection, ("refused", place, str(error)))
        return
    ended = os.pidfd_open(pid)
    until = began + seconds if seconds else None
    late = asked = False
    try:
        while True:
            wait = None if until is None else max(0.0, until - time.monotonic())
            ready = select.select([connection.fileno(), ended], [], [], wait)[0]
            if ended in ready:
                break
            if ready and not _ends(connection, number, place, left):
                continue
            late = late or not (ready or asked)
            signal_all(pid, SIGKILL if asked else SIGTERM)
            asked, until = True, time.monotonic() + grace
    except (EOFError, OSError):
        signal_all(pid, SIGKILL)
        raise
    finally:
        os.close(ended)
        code, cpu, memory = reaped(pid)
    took = time.monotonic() - began
    send(connection, ("ended", place, code, took, cpu, memory, late))


def run_commands(connection: socket, work: tuple[Any, ...] | None) -> None:
    """Run these commands one after the other, then the commands that come later."""
    home = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    while work is not None:
        if work[0] == "run":  # or a message that came too late
            left = list(enumerate(work[2]))[::-1]
            while left:
                place, command = left.pop()
                os.fchdir(home)
                run_command(connection, work[1], place, command, left)
        work = receive(connection)


def run_calls(connection: socket, work: tuple[Any, ...] | None) -> None:
    """Run these calls one after the other, except calls that the engine takes back before; then later ones."""
    import threading
    from collections import deque
    from queue import SimpleQueue

    inbox: SimpleQueue[Any] = SimpleQueue()
    sending, changing = threading.Lock(), threading.Lock()
    current, runs, left = 0, -1, deque[tuple[int, tuple[bytes, bytes]]]()

    def tell(*said: Any) -> None:
        with sending:
            send(connection, said)

    def listen() -> None:
        try:
            while (found := receive(connection)) is not None:
                if found[0] == "call":
                    inbox.put(found)
                    continue
                with changing:
                    while left and found[1] == current:
                        tell("returned", left.pop()[0])
                    if found == ("kill", current, runs):
                        from malleable.live.engines.process.supervisor import kill_below

                        kill_below(os.getpid())
                        os._exit(1)
            inbox.put(None)
        except (EOFError, OSError):
            os._exit(1)  # the engine is gone

    threading.Thread(target=listen, daemon=True).start()
    while work is not None:
        _, number, path, calls = work
        sys.path[:] = path
        from malleable.live.engines.remote import outcome

        with changing:
            current = number
            left.extend(enumerate(calls))
        while True:
            with changing:
                if not left:
                    break
                runs, call = left.popleft()
            tell("ended", runs, *outcome(call))
            with changing:
                runs = -1
        work = inbox.get()


def main(host: str, port: str) -> None:
    secret = bytes.fromhex(os.environ.pop(SECRET))
    connection = socket(AF_INET6 if ":" in host else AF_INET, SOCK_STREAM)
    connection.connect((host, int(port)))
    connection.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
    connection.sendall(secret[:HALF])
    if read(connection, HALF) != secret[HALF:]:
        sys.exit("this engine did not start the process")
    found = receive(connection)
    if found is not None:
        (run_calls if found[0] == "call" else run_commands)(connection, found)
    connection.shutdown(SHUT_WR)
    # Waits until the engine has read everything: unread bytes here would reset the connection, and
    # messages that the engine has not read yet would be lost.
    connection.settimeout(_HEARD)
    try:
        while connection.recv(1 << 16):
            pass
    except OSError:
        pass


if __name__ == "__main__":
    main(*sys.argv[1:])
