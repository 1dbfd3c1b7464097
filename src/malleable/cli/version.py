"""What ``malleable --version`` prints."""

from importlib.metadata import version


def show_version() -> int:
    """The exit status."""
    print(f"malleable {version('malleable')}")
    return 0
