"""The command line: ``malleable COMMAND``; `malleable.cli.arguments` lists the commands."""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]

_INTERRUPTED = 130  # the exit status of shells after Ctrl-C


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command (``argv`` without the program's name; by default the process's). Exit status: 0, 1 (wrong
    input or output, one line on standard error that says what and where) or 130 (interrupted). Wrong usage
    raises SystemExit with 2."""
    from malleable.cli.arguments import build_parser, show_version

    if list(sys.argv[1:] if argv is None else argv) == ["--version"]:
        return show_version()  # before slow imports
    from malleable.cli import streams

    streams.prepare_streams()
    streams.speak(streams.Manner())
    try:
        arguments = build_parser().parse_args(argv)
        arguments.words = list(sys.argv[1:] if argv is None else argv)
        streams.speak(streams.Manner(arguments.quiet, arguments.no_color))
        status: int = arguments.run(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        streams.clear_line()
        streams.note("interrupted")
        return _INTERRUPTED
    except BrokenPipeError:
        streams.discard_output()  # the reader of the pipe has closed it
        return 0
    except (ValueError, OSError, ImportError, MemoryError) as error:
        streams.discard_output()
        streams.note(f"error: {streams.wording(error)}", grave=True)
        return 1
    return status
