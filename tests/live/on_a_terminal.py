"""A command whose standard streams are a terminal: what it shows there."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time


def shown(command, folder, patience=60.0, columns=120, until=None, then=lambda: None):
    """All that it wrote, its exit status, and whether it was seen to show ``until`` before its end.

    Once it has shown that twice, ``then`` is called.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
    environment = os.environ | {"TERM": "xterm", "COLUMNS": str(columns)}
    with subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env=environment,
    ) as process:
        os.close(theirs)
        text, limit, seen = b"", time.monotonic() + patience, False
        while time.monotonic() < limit:
            if not select.select([ours], [], [], 0.2)[0]:
                continue
            try:
                data = os.read(ours, 65536)
            except OSError:  # it has ended
                break
            text += data
            if until and until in text and process.poll() is None:
                seen = True
                if text.count(until) > 1:
                    then()
        os.close(ours)
        status = process.wait(patience)
    return text.decode(), status, seen
