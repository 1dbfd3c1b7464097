"""Orders to a run from another terminal: through a socket beside its journal that only its owner can use.

A run listens while it holds its journal. An order is one message, and so is the answer; both are JSON. The
run looks whether there is one after each pass, and waits for nobody. The socket is a file of mode 600 of the
run's user, in a folder that others cannot change: nobody else can connect. A look costs a microsecond.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from malleable.files.json import parse_json
from malleable.live.own_files import check_parent

_MOST = 1 << 16  # bytes of an order
_WAITING = 8  # that are connected at once
_PATIENCE = 10.0  # seconds until an order has to be answered


def socket_path(journal: Path) -> Path:
    """The socket at which the run that writes this journal listens."""
    return journal.with_name(journal.name + ".socket")


@contextlib.contextmanager
def _short(path: Path) -> Iterator[str]:
    """The same file by a path that fits into an address, however long the folder's is."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def _is_own(path: Path) -> bool:
    """Whether it is a socket of one's own; False: nothing is there. ValueError for all else."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.geteuid():
        raise ValueError(f"{path}: a socket of your own has to be here, and this is none")
    return True


class Control:
    """The socket of a run.

    Parameters
    ----------
    journal : path
        That this process writes.
    obey : callable
        ``obey(order) -> str`` does what a mapping says, and tells what it did; ValueError: why it does not.

    Raises
    ------
    ValueError, OSError
        There can be no socket, and why.
    """

    def __init__(self, journal: Path, obey: Callable[[Mapping[str, Any]], str]) -> None:
        self._path = socket_path(journal.absolute())
        self._obey = obey
        self._waiting: list[socket.socket] = []
        check_parent(self._path.parent)
        if _is_own(self._path):  # of a run that was killed
            self._path.unlink()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            os.fchmod(self._socket.fileno(), 0o600)  # before it has a name
            with _short(self._path) as name:
                self._socket.bind(name)
            self._socket.listen(_WAITING)
            self._socket.setblocking(False)
        except BaseException:
            self._socket.close()
            raise

    def serve(self) -> None:
        """Obeys what there is."""
        with contextlib.suppress(BlockingIOError):
            connection, _ = self._socket.accept()
            connection.setblocking(False)
            if len(self._waiting) < _WAITING:
                self._waiting.append(connection)
            else:
                connection.close()
        for connection in self._waiting[:]:
            try:
                said = connection.recv(_MOST)
            except BlockingIOError:
                continue  # it has said nothing so far
            except OSError:
                said = b""
            self._waiting.remove(connection)
            with connection, contextlib.suppress(OSError):
                if said:
                    connection.send(json.dumps(self._answer(said)).encode())

    def _answer(self, said: bytes) -> dict[str, str]:
        try:
            order = parse_json(said.decode(), "order")
            if not isinstance(order, dict):
                raise ValueError("no order")
            return {"done": self._obey(order)}
        except ValueError as error:
            return {"error": str(error)}

    def close(self) -> None:
        """Listens no more; there is no socket any more."""
        for connection in (self._socket, *self._waiting):
            connection.close()
        with contextlib.suppress(OSError):
            self._path.unlink()


def order(journal: Path, what: Mapping[str, Any]) -> str:
    """Ask the run that writes this journal to do something; returns the run's answer.

    Raises
    ------
    ValueError
        No run listens there, it is somebody else's, or it does not do that, and why.
    """
    path = socket_path(journal.absolute())
    nobody = f"{journal}: no run of this journal goes on that could be told"
    if not _is_own(path):
        raise ValueError(nobody)
    check_parent(path.parent)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.settimeout(_PATIENCE)
        try:
            with _short(path) as name:
                connection.connect(name)
            connection.sendall(json.dumps(what).encode())
            answer = parse_json(connection.recv(_MOST).decode() or "{}", "answer")
        except TimeoutError:
            raise ValueError(f"{journal}: its run does not answer") from None
        except OSError:
            raise ValueError(nobody) from None
    if not isinstance(answer, dict) or "done" not in answer:
        raise ValueError(str(answer.get("error", nobody)) if isinstance(answer, dict) else nobody)
    return str(answer["done"])
