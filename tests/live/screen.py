"""A terminal that a command runs on, and what somebody would see there at any moment."""

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from types import SimpleNamespace

from tests.live.waiting import PATIENCE

MALLEABLE = [sys.executable, "-m", "malleable"]
_PART = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|\x1b[()].|\x1b.|[\r\n\b\x07]|[^\x1b\r\n\b\x07]+")


class Screen:
    """What moves the cursor, clears and colours, on so many columns; lines that scroll out are kept."""

    def __init__(self, columns):
        self.columns = columns
        self.cells = [{}]  # by line: column -> (character, colours)
        self.line = self.column = 0
        self.colours = ()
        self.cursor = True
        self._rest = ""

    def feed(self, data):
        text = self._rest + data.decode(errors="replace")
        cut = text.rfind("\x1b")
        whole = cut < 0 or re.match(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[^\[]", text[cut:])
        self._rest = "" if whole else text[cut:]
        for match in _PART.finditer(text if whole else text[:cut]):
            self._obey(match)

    def _obey(self, match):
        text, (codes, letter) = match[0], match.groups()
        if letter:
            self._control(codes, letter)
        elif text == "\r":
            self.column = 0
        elif text == "\b":
            self.column = max(0, self.column - 1)
        elif text == "\n":
            self._down()
        elif text[0] not in "\x1b\x07":
            for character in text:
                if self.column == self.columns:
                    self.column = 0
                    self._down()
                self.cells[self.line][self.column] = character, self.colours
                self.column += 1

    def _down(self):
        self.line += 1
        if self.line == len(self.cells):
            self.cells.append({})

    def _control(self, codes, letter):
        count = int(codes) if codes.isdigit() else 1
        if letter == "A":
            self.line = max(0, self.line - count)
        elif letter == "K":
            first = 0 if codes == "2" else self.column
            for column in [c for c in self.cells[self.line] if c >= first]:
                del self.cells[self.line][column]
        elif letter == "m":
            found = tuple(int(code) for code in codes.split(";") if code)
            self.colours = () if not found or found == (0,) else self.colours + found
        elif codes == "?25":
            self.cursor = letter == "h"
        else:
            raise AssertionError(f"a terminal would obey {codes + letter!r}")

    def lines(self):
        return [
            "".join(row.get(k, (" ",))[0] for k in range(max(row, default=-1) + 1)).rstrip()
            for row in self.cells
        ]

    def text(self):
        return "\n".join(self.lines())

    def colours_of(self, words):
        """Colour codes of the first place where these words stand."""
        for row, line in zip(self.cells, self.lines(), strict=True):
            if words in line:
                return row[line.index(words)][1]
        raise AssertionError(f"{words!r} is not on the screen:\n{self.text()}")


@contextlib.contextmanager
def terminal(folder, *words, columns=80, command=MALLEABLE, **environment):
    """Yields a namespace: ``screen``, ``process``, ``wait(condition)`` and ``end() -> status``."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    own = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR")}
    process = subprocess.Popen(
        [*command, *words], cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs,
        env=own | {"TERM": "xterm-256color"} | environment, start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - Ctrl-C goes there
    )  # fmt: skip
    os.close(theirs)
    screen = Screen(columns)

    def read(seconds):
        if not select.select([ours], [], [], seconds)[0]:
            return True
        try:
            screen.feed(os.read(ours, 65536))
        except OSError:  # nobody writes there any more
            return False
        return True

    def wait(condition, patience=PATIENCE):
        until = time.monotonic() + patience
        while not condition(screen.text()):
            assert time.monotonic() < until, screen.text()
            if not read(0.02):
                assert condition(screen.text()), screen.text()

    def end(patience=PATIENCE):
        until = time.monotonic() + patience
        while read(0.1):
            assert time.monotonic() < until, screen.text()
        return process.wait(patience)

    def press(keys):
        os.write(ours, keys)

    try:
        yield SimpleNamespace(
            screen=screen, process=process, wait=wait, end=end, press=press, read=read
        )
    finally:
        process.kill()
        process.wait()
        os.close(ours)
