"""What pyproject.toml says of the project. The address of the site stands there alone."""

from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


def facts() -> tuple[str, str, str]:
    """Name, version, and the address of the site: ``Documentation`` of ``[project.urls]``, or nothing."""
    told = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    return told["name"], told["version"], told.get("urls", {}).get("Documentation", "")
