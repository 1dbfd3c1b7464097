"""What makes pages of the sources when the site is built. Each part has ``write(folder)``."""

from pathlib import Path


def keep(path: Path, text: str) -> None:
    """Write a page, unless it is there already as it should be: Sphinx reads again what has changed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def titled(title: str, line: str = "=") -> str:
    """A title in reStructuredText."""
    return f"{title}\n{line * len(title)}\n"
