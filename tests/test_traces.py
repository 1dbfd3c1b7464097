"""Where the tests find real traces."""

from pathlib import Path

import pytest

from tests.trace_files import trace_file, traces_folder


def test_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the checkout, also of one that a link leads to; what the environment names comes first."""
    monkeypatch.delenv("MALLEABLE_TRACES", raising=False)
    checkout = tmp_path / "work" / "main"
    checkout.mkdir(parents=True)
    assert traces_folder(checkout) is None
    (tmp_path / "link").symlink_to(checkout)
    beside = tmp_path / "work" / "shared" / "traces"
    beside.mkdir(parents=True)
    assert traces_folder(checkout) == beside
    assert traces_folder(tmp_path / "link").samefile(beside)  # type: ignore[union-attr]
    named = tmp_path / "named"
    monkeypatch.setenv("MALLEABLE_TRACES", str(named))
    with pytest.raises(pytest.fail.Exception, match="no such folder"):
        traces_folder(checkout)
    named.mkdir()
    assert traces_folder(checkout) == named
    with pytest.raises(pytest.skip.Exception, match=r"no a/b\.gz"):
        trace_file("a", "b.gz")
