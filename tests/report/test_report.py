"""Pages of traces: what they say is what ``--json`` says, whatever the names and however few the jobs."""

import json
import math
import re

import numpy as np
import pytest

import malleable as mb
from benchmarks.instances import rigid_log
from malleable.cli import main
from malleable.report import scenarios
from malleable.report.words import COLUMNS, FORMATS, change, duration, short
from tests.cli.command_line import call, check_one_line, run
from tests.oracles import backfill as oracle
from tests.report.pages import (
    LONG,
    SCRIPT,
    colours,
    made,
    made_of,
    parsed,
    rows_of,
    sacct,
    style,
    swim,
    texts,
)
from tests.trace_files import trace_file


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A page with everything, of a trace that knows what happened."""
    return made(tmp_path_factory.mktemp("recorded"), sacct(arrays=True))


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    return made(tmp_path_factory.mktemp("generated"), swim(), "--load", 0.8, "--quick")


def test_the_table_is_what_json_says(recorded, generated):
    for page, facts in (recorded, generated):
        shown = rows_of(parsed(page), "table")
        rows = facts["table"]["rows"]
        columns = [own for own in COLUMNS if any(row.get(own.key) is not None for row in rows)]
        assert len(shown) == len(rows)
        for (_, cells), row in zip(shown, rows, strict=True):
            values = [row.get(own.key) for own in columns]
            assert [None if cell == "" else float(cell) for cell in cells] == values
        assert ('id="loads"' in page) == ("loads" in facts["curve"])


def test_curves_are_what_json_says(recorded):
    page, facts = recorded
    tree = parsed(page)
    for (_, cells), point in zip(rows_of(tree, "loads"), facts["curve"]["loads"], strict=True):
        expected = [
            own[key]
            for own in point["policies"].values()
            for key in ("mean_response", "longest_wait")
        ]
        assert [float(cell) for cell in cells] == expected
    movers = rows_of(tree, "movers")
    assert len(movers) == len(facts["movers"]) == 20


def test_what_happened_is_a_row_and_the_baseline(recorded):
    _, facts = recorded
    first = facts["table"]["rows"][0]
    trace = mb.read(_path(facts, sacct(arrays=True)))
    response = trace.finish - trace.arrival
    first_task = np.minimum.reduceat(trace.map.start, trace.map.offset[:-1])
    wait = first_task - trace.arrival
    assert first["policy"] == facts["baseline"] == "recorded"
    assert first["mean_response"] == pytest.approx(response.mean())
    assert first["p95_response"] == np.sort(response)[math.ceil(0.95 * len(response)) - 1]
    assert first["longest_wait"] == wait.max() and first["mean_wait"] == pytest.approx(wait.mean())
    assert facts["slots"] == 16
    busy = float((trace.map.end - trace.map.start).sum())
    spent = trace.finish.max() - trace.arrival.min()
    assert first["idle_slots"] == pytest.approx(16 - busy / spent)


def _path(facts, text):
    import io

    assert facts["files"][0]["bytes"] == len(text)
    return io.StringIO(text)


def test_a_simulation_of_what_ran_is_the_record(tmp_path, recorded):
    """Arrays that took the whole machine, first come, first served, do so in the simulation."""
    _, facts = made(tmp_path, sacct(110, widths=[16], arrays=True), "--quick")
    nearest = facts["trust"]["rows"][0]
    assert nearest["policy"] == "fifo" and nearest["mean_ratio"] == pytest.approx(1.0, abs=1e-9)
    assert nearest["within_fifth"] == 1.0 and "close to the record" in " ".join(facts["verdict"])


SWF = "; MaxProcs: 64\n" + "".join(
    f"{k} {60 * k} {{}} 3600 {1 + 63 * (k % 2)}" + " -1" * 13 + "\n" for k in range(1, 9)
)
RIGID = {
    "sacct": (sacct(40), []),
    "SWF": (SWF.format(*[0, 3600] * 4), []),
    "SWF without waits": (SWF.format(*[-1] * 8), []),
    "SWF without times": (SWF.format(*[-1] * 8), ["--spread", 600]),
}


@pytest.mark.parametrize("kind", RIGID)
def test_rigid_jobs_are_simulated_as_they_were(tmp_path, kind):
    text, words = RIGID[kind]
    text = text if kind != "SWF without times" else re.sub(r"^(\d+) \d+", r"\1 0", text, flags=re.M)
    page, facts = made(tmp_path, text, *words)
    slots = {"sacct": 16, "SWF": 256}.get(
        kind, 64
    )  # 256 were in use at once, whatever the head says
    assert facts["rigid"] and facts["slots"] == slots
    shown = [row["policy"] for row in facts["table"]["rows"] if row["kind"] == "simulated"]
    assert {"easy", "fcfs", "conservative", "easy-sjf", "auto"} <= set(shown)
    best = min(row["mean_response"] for row in facts["table"]["rows"] if row["policy"] in shown)
    own = next(row for row in facts["table"]["rows"] if row["policy"] == facts["subject"])
    assert own["mean_response"] <= best / 0.99
    assert facts["baseline"] in shown and facts["slots_told"] in facts["verdict"]
    assert [point["share"] for point in facts["curve"]["shares"]] == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert "If these jobs were malleable" in page


def _easy_log(seed, count=120):
    """A log as EASY runs it, with exact requested times."""
    jobs = oracle.jobs_of(rigid_log(seed, count))
    starts = oracle.backfill(jobs, 16, "easy")
    rows = [
        f"{k} {j.arrival:.0f} {at - j.arrival:.0f} {j.run:.0f} {j.width} -1 -1 {j.width} {j.requested:.0f}"
        " -1 1 2 1 1 1 1 -1 -1"
        for k, (j, at) in enumerate(zip(jobs, starts, strict=True), start=1)
    ]
    return "; MaxProcs: 16\n" + "\n".join(rows) + "\n"


@pytest.mark.parametrize("seed", range(3))
def test_what_backfill_ran_is_found_again(tmp_path, seed):
    _, facts = made(tmp_path, _easy_log(seed), "--quick")
    nearest = facts["trust"]["rows"][0]
    assert nearest["policy"] == facts["baseline"] == "easy"
    assert nearest["mean_ratio"] == 1.0 and nearest["within_fifth"] == 1.0
    assert facts["trust"]["doubt"] is None and "close to the record" in " ".join(facts["verdict"])
    rows = {row["policy"]: row for row in facts["table"]["rows"]}
    assert rows[facts["subject"]]["mean_response"] <= rows["easy"]["mean_response"]
    assert rows["auto"]["mean_response"] <= rows["easy"]["mean_response"]


def test_nothing_is_simulated_twice(tmp_path, monkeypatch):
    calls = []

    def told(jobs, policy, **options):
        calls.append((jobs.arrival.tobytes(), jobs.width.tobytes(), policy))
        return mb.simulate(jobs, policy, **options)

    monkeypatch.setattr(scenarios, "simulate", told)
    _, facts = made(tmp_path, _easy_log(0))
    assert len(set(calls)) == len(calls)
    assert len(facts["curve"]["loads"]) >= 7 and len(facts["curve"]["shares"]) == 5


def test_few_jobs_are_no_reason_to_believe(tmp_path):
    _, facts = made(tmp_path, _easy_log(1, count=60), "--quick")
    assert "counts 60 jobs" in facts["trust"]["doubt"]
    assert "close to the record" not in " ".join(facts["verdict"])


def test_jobs_can_be_declared_malleable_or_rigid(tmp_path):
    _, facts = made(tmp_path, sacct(30), "--quick", "--malleable", "1")
    assert not facts["rigid"]
    _, facts = made(tmp_path, sacct(30, arrays=True), "--quick", "--rigid")
    assert facts["rigid"]


def test_windows(tmp_path):
    """A log that is cut out of a longer one is seen, and its load is that of the window."""
    head, *rows = sacct(40).splitlines()
    early = rows[0].split("|")
    early[6] = early[7] = "2023-12-01T00:00:00"
    text = "\n".join([head, "|".join(early), *rows[1:]]) + "\n"
    _, facts = made(tmp_path, text, "--quick")
    assert (
        any("cut out of a longer one" in told for told in facts["warnings"]) and facts["load"] > 0.3
    )
    _, facts = made(tmp_path, text, "--quick", "--from", "2024-05-01")
    assert facts["jobs"] == 40 and not any("cut out" in told for told in facts["warnings"])
    early[8] = "2023-12-30T00:00:00"
    text = "\n".join([head, "|".join(early), *rows[1:]]) + "\n"
    _, facts = made(tmp_path, text, "--quick", "--from", "2024-05-01")
    assert facts["jobs"] == 39


def test_how_large_the_cluster_is(tmp_path, capsys):
    """As the head of a log says, or the most in use, also by jobs that still run; else the command asks."""
    head, *rows = sacct(12).splitlines()
    cells = rows[-1].split("|")
    cells[0], cells[5], cells[8], cells[9] = "999", "RUNNING", "Unknown", "50"
    _, facts = made(tmp_path, "\n".join([head, *rows, "|".join(cells)]) + "\n", "--quick")
    assert facts["slots"] > 50 and "1 job of 13 left out: 1 running." in facts["skipped"]
    path = tmp_path / "jobs.csv"
    path.write_text("name,maps,map_seconds,arrival\na,4,10,0\nb,2,5,3\n")
    check_one_line(call(capsys, "report", path), "how large is the cluster?", "--slots N")


def test_policies_are_simulated_as_the_simulation_does(generated):
    _, facts = generated
    jobs = mb.read(_path(facts, swim())).tasks()
    fairs = {}
    for name in ("fair", "fair(slow_start=0.05)", "fair(slow_start=0.8)"):
        result = mb.simulate(jobs, name, load=0.8, rng=0)
        fairs[name] = result.summary[name]["mean_response"]
    best = min(fairs, key=fairs.__getitem__)
    rows = {row["policy"]: row for row in facts["table"]["rows"]}
    assert facts["fair"] == best and [name for name in rows if "fair" in name] == [best]
    assert rows[best]["mean_response"] == pytest.approx(fairs[best])
    auto = mb.simulate(jobs, "auto", load=0.8, rng=0).summary["auto"]
    assert rows["auto"]["mean_response"] == pytest.approx(auto["mean_response"])
    assert rows["auto"]["longest_wait"] == pytest.approx(auto["longest_wait"])
    assert rows["bound"]["mean_response"] <= min(own["mean_response"] for own in rows.values())


def test_groups_add_up(recorded):
    _, facts = recorded
    kinds = {kind["kind"]: kind for kind in facts["groups"]}
    known = {"user", "program", "account", "partition", "size of job (slot time)"}
    assert known == set(kinds)
    rows = {row["policy"]: row for row in facts["table"]["rows"]}
    for kind in kinds.values():
        assert sum(row["jobs"] for row in kind["rows"]) == facts["jobs"]
        assert sum(row["faster"] for row in kind["rows"]) == facts["changes"]["faster"]
        for policy in ("recorded", "auto"):
            total = sum(row["jobs"] * row["mean_response"][policy] for row in kind["rows"])
            assert total / facts["jobs"] == pytest.approx(rows[policy]["mean_response"])
            longest = max(row["longest_wait"][policy] for row in kind["rows"])
            assert longest == pytest.approx(rows[policy]["longest_wait"])


def test_areas_over_time_are_means(recorded):
    _, facts = recorded
    told = facts["time"]
    width = told["time"][1] - told["time"][0]
    for row in facts["table"]["rows"]:
        own = told["policies"].get(row["policy"])
        if own is None:
            continue
        waited = sum(own["jobs"]) * width
        assert waited == pytest.approx(facts["jobs"] * row["mean_response"], rel=1e-4)
        assert sum(own["slots"]) * width == pytest.approx(facts["work"], rel=1e-3)


def test_sentences_compare_with_fair_at_its_best(recorded, generated):
    for _, facts in (recorded, generated):
        told = " ".join(facts["verdict"])
        rows = {row["policy"]: row for row in facts["table"]["rows"]}
        for policy in ("auto", facts["fair"]):
            assert duration(rows[policy]["mean_response"]) in told
            assert duration(rows[policy]["longest_wait"]) in told
        assert "Equal shares (FAIR) with its best setting" in told


def test_large_figures_compare_as_the_headline_does(tmp_path):
    """Simulations on more slots than there were are far from the record."""
    for slots, other in ((64, "Equal shares (FAIR)"), (16, "Recorded")):
        text = sacct(110, widths=[16], arrays=True)
        page, facts = made(tmp_path, text, "--quick", "--slots", slots)
        (tiles,) = [own for own in parsed(page).iter("dl") if own.get("class") == "tiles"]
        told = ["".join(own.itertext()) for own in tiles.iter("dd") if own.get("class") == "small"]
        assert all(text.startswith(f"{other}: ") for text in told[:3])
        assert ("In the record the mean job took" in facts["verdict"][1]) == (slots == 64)


def test_same_input_same_bytes(tmp_path, recorded):
    again = made(tmp_path, sacct(arrays=True))[1]
    first = dict(recorded[1])
    for own in (again, first):
        own.pop("command")
    assert again == first


@pytest.mark.parametrize("words", [["--quick"], []])
def test_names_are_data(tmp_path, words):
    names = [SCRIPT, LONG, "a & b", '"><img src=x onerror=alert(1)>', "{{ 7 * 7 }}", "'; //"]
    text = (
        sacct(12, names=names, arrays=True)
        .replace("|ann|", f"|{SCRIPT}|")
        .replace("|bob|", f"|{LONG}|")
    )
    text = text.replace("|cyd|", "|{{ 7 * 7 }}|")
    page, facts = made(tmp_path, text, *words, name="a <b> & c.txt")
    tree = parsed(page)
    assert len(list(tree.iter("script"))) == 1 and not list(tree.iter("img"))
    assert not [name for own in tree.iter() for name in own.attrib if name.startswith("on")]
    assert LONG not in page and "{{ 7 * 7 }}" in page
    assert max(map(len, texts(tree).split())) < 400
    assert SCRIPT in texts(tree)
    users = next(kind for kind in facts["groups"] if kind["kind"] == "user")
    assert {row["name"] for row in users["rows"]} == {SCRIPT, LONG, "{{ 7 * 7 }}"}


HIDDEN = (
    "\u202eback\u2066\u2028two\x1b[31mred"  # turns text round, breaks lines, colours a terminal
)


def test_control_characters_in_names_are_shown(tmp_path):
    text = sacct(12, names=[HIDDEN], arrays=True).replace("|ann|", f"|{HIDDEN}|")
    page, facts = made(tmp_path, text, "--quick")
    assert not set(HIDDEN) & set(page) - set(filter(str.isprintable, HIDDEN))
    assert r"\u202eback\u2066\u2028two\x1b[31mred" in texts(parsed(page))
    users = next(kind for kind in facts["groups"] if kind["kind"] == "user")
    assert HIDDEN in {row["name"] for row in users["rows"]}


def test_names_of_jobs_are_data(tmp_path):
    rows = [f"{name},{k},{8 - 3 * k},10,ann" for k, name in enumerate([SCRIPT, LONG, "c"])]
    table = "name,arrival,maps,map_seconds,user\n" + "\n".join(rows) + "\n"
    page, facts = made(tmp_path, table, "--slots", 4)
    tree = parsed(page)
    assert {job["name"] for job in facts["movers"]} <= {SCRIPT, LONG, "c"} and facts["movers"]
    assert len(list(tree.iter("script"))) == 1 and LONG not in page and len(page) < 200_000


EDGES = {
    "one job": ("name,arrival,maps,map_seconds\na,0,4,10\n", []),
    "all at one time": ("name,arrival,maps,map_seconds\n" + "a,3,4,10\nb,3,2,5\n", []),
    "no work": ("name,arrival,maps,map_seconds\na,0,0,10\nb,9,0,5\n", []),
    "deadlines": ("name,maps,map_seconds,deadline\na,4,10,12\nb,2,5,\n", []),
    "one policy": ("name,maps,map_seconds\na,4,10\nb,2,5\n", ["--policy", "fifo"]),
    "no fair": ("name,maps,map_seconds\na,4,10\nb,2,5\n", ["--policy", "auto,fifo"]),
    "work alone": ("name,work,arrival\na,400,0\nb,90,7\n", []),
    "spread": ("name,maps,map_seconds\na,4,10\nb,2,5\n", ["--spread", "60"]),
    "tandem": ("name,arrival,map,shuffle\na,0,3,4\nb,1,5,0\n", []),
    "slotted": ("name,arrival,map,reduce\na,1,3,4;5\nb,2,5,1\n", []),
    "swf": ("; a log\n" + "\n".join(
        f"{k} {k * 10} {5 * k} 30 {1 + k % 3}" + " -1" * 6 + f" {k % 2} -1 -1 1 {k % 2} -1 -1"
        for k in range(9)
    ), []),
}  # fmt: skip


@pytest.mark.parametrize("edge", EDGES)
def test_few_jobs(tmp_path, edge):
    text, words = EDGES[edge]
    slots = [] if edge == "swf" else ["--slots", "2"]
    page, facts = made(tmp_path, text, *slots, *words)
    tree = parsed(page)
    assert facts["verdict"] and facts["table"]["rows"]
    assert facts["compared"] == (edge != "one job") == ('id="policies"' in page)
    assert "1 jobs" not in texts(tree) and "0.0 % / 0.0 %" not in texts(tree)
    assert not re.search(r"\bnan\b|\binf\b|Undefined|None\b", texts(tree))


def test_one_time_offers_spread(tmp_path, capsys):
    path = tmp_path / "jobs.csv"
    path.write_text("name,maps,map_seconds\na,4,10\nb,2,5\n")
    check_one_line(call(capsys, "report", path), "--slots N", "--spread SECONDS")
    _, facts = made_of([path], tmp_path, "--slots", 3)
    assert "--spread" in facts["curve"]["missing"] and facts["load"] is None


REFUSED = {
    "empty": ("", [], "empty"),
    "head alone": ("JobID|Submit|Start|End\n", [], "no jobs in it"),
    "unknown": ("nothing known\n", [], "unknown format"),
    "two sizes": (sacct(5), ["--slots", "3", "--load", "1"], "--slots, --load and --cluster"),
    "no slots": (sacct(5), ["--slots", "0"], "slots"),
    "policy": (sacct(5), ["--policy", "best-of-all"], "best-of-all"),
    "spread": (sacct(5), ["--spread", "10"], "--spread"),
    "run": (sacct(5), ["--run", "1"], "--run"),
    "bad line": (sacct(5) + "1|2\n", [], "line 7"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_input_is_one_line(tmp_path, capsys, case):
    text, words, told = REFUSED[case]
    path = tmp_path / "trace.txt"
    path.write_text(text)
    page = tmp_path / "page.html"
    check_one_line(call(capsys, "report", path, "--html", page, *words), told)
    assert not page.exists()


def test_standard_input():
    done = run("report", "-", "--quick", "--json", "-", stdin=sacct(8))
    facts = json.loads(done.stdout)
    assert facts["jobs"] == 8 and facts["title"] == "standard input"


def test_bad_lines_are_told(tmp_path):
    _, facts = made(tmp_path, sacct(6) + "1|2\n", "--skip-bad", "--quick")
    assert any("1 of 7 jobs malformed: line 8" in text for text in facts["skipped"])


def test_start_times_as_submit_times_are_told(tmp_path):
    rows = sacct(30).splitlines()
    cells = [row.split("|") for row in rows[1:]]
    text = "\n".join([rows[0], *("|".join([*c[:6], c[7], *c[7:]]) for c in cells)])
    page, facts = made(tmp_path, text + "\n", "--quick")
    assert any("start times as submit times" in told for told in facts["warnings"])
    assert facts["baseline"] == "easy" and facts["table"]["rows"][0]["policy"] == "recorded"
    assert "start times as submit times" in page


def test_the_recorded_policy_can_be_named(tmp_path):
    _, facts = made(tmp_path, sacct(30), "--quick", "--recorded-policy", "fair")
    assert {row["policy"] for row in facts["trust"]["rows"]} == {"fair"}


def test_without_a_template_engine(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)
    path = tmp_path / "t.txt"
    path.write_text(sacct(5))
    done = call(capsys, "report", path, "--html", tmp_path / "p.html")
    check_one_line(done, "jinja2: pip install 'malleable[report]'")
    assert main(["report", str(path), "--quick"]) == 0  # a table needs none


def test_the_page_needs_nothing_else(recorded):
    page, _ = recorded
    tree = parsed(page)
    for own in tree.iter():
        for name in ("src", "href", "action", "data", "poster", "srcset"):
            value = own.get(name)
            assert value is None or value.startswith("#") or value == "data:,", (own.tag, value)
    assert "url(" not in style() and "@import" not in style()
    (policy,) = [m for m in tree.iter("meta") if m.get("http-equiv")]
    assert policy.get("content").startswith("default-src 'none'")
    assert len(page) < 1_000_000


def test_links_and_labels(recorded):
    tree = parsed(recorded[0])
    ids = [own.get("id") for own in tree.iter() if own.get("id")]
    assert len(ids) == len(set(ids))
    targets = [own.get("href")[1:] for own in tree.iter("a")]
    assert targets and set(targets) <= set(ids)
    for svg in tree.iter("{http://www.w3.org/2000/svg}svg"):
        assert svg.get("aria-hidden") or len(svg.get("aria-label")) > 20
    for head in tree.iter("th"):
        assert head.get("scope") and "".join(head.itertext()).strip()
        if head.get("data-column"):
            assert head.get("title"), "".join(head.itertext())
    levels = [int(own.tag[1]) for own in tree.iter() if re.fullmatch("h[1-6]", str(own.tag))]
    assert levels[0] == 1 and all(b - a <= 1 for a, b in zip(levels, levels[1:], strict=False))
    for own in tree.iter("div"):
        if own.get("class") == "scroll":  # reached by keyboard, and told what it is
            assert own.get("tabindex") == "0" and own.get("aria-label")


def _luminance(colour):
    digits = colour[1:] if len(colour) == 7 else "".join(2 * c for c in colour[1:])
    parts = [int(digits[k : k + 2], 16) / 255 for k in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    low, high = sorted((_luminance(a), _luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [False, True])
def test_contrast(dark):
    known = colours(dark)
    for paper in ("paper", "sheet", "mark", "note"):
        for ink in ("ink", "soft"):
            assert contrast(known[ink], known[paper]) >= 4.5, (ink, paper)
    for ink in ("accent", "good", "bad"):
        for paper in ("paper", "sheet", "mark"):
            assert contrast(known[ink], known[paper]) >= 4.5, (ink, paper)
    for name in (name for name in known if name.startswith("c-")):
        assert contrast(known[name], known["paper"]) >= 4.5, name  # names of lines, too
    assert contrast(known["strong"], known["paper"]) >= 3.0
    assert contrast("#ffffff", "#000000") == pytest.approx(21.0)


def test_words():
    assert duration(0.0) == "0 s" and duration(None) == "–" and duration(math.inf) == "never"
    assert duration(119.0) == "119 s" and duration(120.0) == "2.00 min"
    assert duration(3600.0) == "1.00 h" and duration(200_000.0) == "2.31 d"
    assert (
        change(2.0, 1.0) == "−50 %" and change(1.0, 1.0) == "±0 %" and change(1.0, 20.0) == "× 20.0"
    )
    assert short("a" * 100) == "a" * 29 + "…" + "a" * 29
    assert FORMATS["size"](3 * 2**20) == "3.00 MiB" and FORMATS["share"](0.5) == "50 %"


@pytest.mark.parametrize(
    "parts",
    [
        ("hadoop-rumen", "trace_5m.json.gz"),
        ("spark-events", "eventlog_complex_dec_nested.gz"),
        ("hadoop-rumen", "compression_case1_trace.json.gz"),
    ],
)
def test_real_records(tmp_path, parts):
    page, facts = made_of([trace_file(*parts)], tmp_path, "--quick")
    parsed(page)
    first = facts["table"]["rows"][0]
    assert first["policy"] == "recorded" and first["mean_response"] > 0.0
    bound = facts["table"]["rows"][-1]
    assert bound["policy"] == "bound" and json.dumps(facts)
