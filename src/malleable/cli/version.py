"""What ``malleable --version`` prints."""


def show_version() -> int:
    """The exit status."""
    from importlib.metadata import version

    print(f"malleable {version('malleable')}")
    return 0
