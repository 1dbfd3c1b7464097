"""The page in a real Chromium: two widths, both colour schemes, scripts on and off, print."""

import functools
import http.server
import json
import os
import re
import shutil
import struct
import subprocess
import threading

import pytest

from tests.report.pages import made, sacct

BROWSER = shutil.which("chromium")
pytestmark = [
    pytest.mark.skipif(
        not os.environ.get("MALLEABLE_BROWSER"),
        reason="a browser takes long: MALLEABLE_BROWSER=1 or make full",
    ),
    pytest.mark.skipif(BROWSER is None, reason="no chromium: apt-get install chromium"),
]
SCHEMES = {"light": [], "dark": ["--blink-settings=preferredColorScheme=0", "--force-dark-mode"]}
PROBE = """<script>
addEventListener("load", () => {
  const told = { errors: window.troubles };
  told.overflow = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  told.beyond = [...document.querySelectorAll("main *, header *, nav")]
    .filter((own) => own.getBoundingClientRect().right > innerWidth + 1 && !own.closest(".scroll, nav"))
    .slice(0, 5).map((own) => own.outerHTML.slice(0, 120));
  told.background = getComputedStyle(document.body).backgroundColor;
  const head = document.querySelector('#table th[data-column="1"]');
  const values = () =>
    [...document.querySelectorAll("#table tbody tr")].map((row) => row.cells[1].dataset.value);
  const button = head.querySelector("button");
  if (button) {
    button.click();
    told.up = values();
    button.click();
    told.down = values();
    told.sort = head.getAttribute("aria-sort");
  }
  const charts = [...document.querySelectorAll("svg.chart")];
  const chart = charts.find((own) => own.getBoundingClientRect().width > 0);
  const box = chart.getBoundingClientRect();
  told.wide = chart.classList.contains("wide");
  told.font = parseFloat(getComputedStyle(chart.querySelector("text")).fontSize) * box.width
    / chart.viewBox.baseVal.width;
  const result = document.createElement("pre");
  result.id = "told";
  result.textContent = JSON.stringify(told);
  document.body.append(result);
});
</script></body>"""
FIRST = """<head><script>
window.troubles = [];
addEventListener("error", (event) => troubles.push(event.message));
</script>"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return made(tmp_path_factory.mktemp("browser"), sacct(40, arrays=True))


@pytest.fixture
def served(tmp_path):
    """A folder on a server of this machine, and what is asked of it."""
    asked = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, form, *words):
            asked.append(self.path)

    handler = functools.partial(Handler, directory=tmp_path)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield tmp_path, f"http://127.0.0.1:{server.server_address[1]}", asked
        server.shutdown()
        thread.join()


def chromium(folder, *words):
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command += ["--disable-background-networking", "--no-first-run", "--enable-logging=stderr"]
    command += [f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=4000", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=240)
    assert "CONSOLE" not in done.stderr, done.stderr
    return done.stdout


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", [400, 1600])
def test_page(page, served, width, scheme):
    folder, address, asked = served
    text, facts = page
    probed = text.replace("</body>", PROBE).replace("<head>", FIRST)
    (folder / "page.html").write_text(probed)
    # A headless window is at least 500 wide: a frame is not.
    (folder / "frame.html").write_text(
        f'<!DOCTYPE html><title>f</title><link rel="icon" href="data:,"><body style="margin:0">'
        f'<iframe src="page.html" width="{width}" height="900" style="border:0"></iframe>'
        "<script>addEventListener('load', () => document.body.append(Object.assign(document.createElement"
        "('pre'), {id: 'out', textContent: frames[0].document.getElementById('told').textContent})))"
        "</script>"
    )
    size = f"--window-size={max(width, 500)},900"
    found = chromium(folder, size, *SCHEMES[scheme], "--dump-dom", f"{address}/frame.html")
    told = json.loads(_text(re.search(r'<pre id="out">(.*?)</pre>', found, re.DOTALL)[1]))
    assert told["errors"] == [] and told["beyond"] == [] and told["overflow"] <= 0
    assert told["wide"] == (width > 640) and told["font"] >= 9.0
    assert told["background"] == ("rgb(16, 21, 28)" if scheme == "dark" else "rgb(255, 255, 255)")
    means = [f"{row['mean_response']}" for row in facts["table"]["rows"]]
    assert told["up"] == sorted(means, key=float) and told["down"] == told["up"][::-1]
    assert told["sort"] == "descending"
    assert set(asked) == {"/frame.html", "/page.html"}


def _text(escaped):
    import html

    return html.unescape(escaped)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_pictures(page, tmp_path, scheme):
    path, picture = tmp_path / "page.html", tmp_path / "shot.png"
    path.write_text(page[0])
    words = ["--window-size=1600,3000", f"--screenshot={picture}", path.as_uri()]
    chromium(tmp_path, *SCHEMES[scheme], *words)
    assert struct.unpack(">II", picture.read_bytes()[16:24]) == (1600, 3000)


def test_readable_without_scripts(page, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(re.sub(r"<script>.*?</script>", "", page[0], flags=re.DOTALL))
    found = chromium(tmp_path, "--dump-dom", path.as_uri())
    assert found.count("<tr") == page[0].count("<tr") and "<button" not in found


def test_print(page, tmp_path):
    path, printed = tmp_path / "page.html", tmp_path / "page.pdf"
    # Low pages, so that the table of jobs goes over several of them.
    path.write_text(page[0].replace("</head>", "<style>@page{size:190mm 90mm}</style></head>"))
    chromium(tmp_path, f"--print-to-pdf={printed}", path.as_uri())
    assert printed.read_bytes().startswith(b"%PDF") and printed.stat().st_size > 20_000
    if shutil.which("pdftotext") is None:
        pytest.skip("no pdftotext: apt-get install poppler-utils")
    words = ["pdftotext", "-layout", printed, "-"]
    told = subprocess.run(words, capture_output=True, text=True, check=True)
    heads = [words for words in told.stdout.split("\f") if re.search(r"slot time +comes", words)]
    assert len(heads) > 1 and "\u2195" not in told.stdout
