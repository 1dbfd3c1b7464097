"""The wheel in clean environments: each command gives its result, or one line that names the extra."""

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

WHEEL = Path(os.environ["MALLEABLE_WHEEL"]).resolve()
SETS = os.environ["MALLEABLE_EXTRAS"].split()
EXTRAS = {"plot", "tables", "custom", "lp", "dask", "hyperqueue", "report"}
TABLE = "name,work,min_slots,max_slots,deadline\na,400,1,100,9\nb,40,1,20,3\nc,40,1,20,4\n"
FLOWS = {
    "slots": 4,
    "flows": [
        {"name": "f", "jobs": [{"name": "m", "work": 8}, {"name": "r", "work": 2, "after": ["m"]}]},
        {"name": "g", "jobs": [{"name": "m", "work": 3, "max_slots": 2}]},
    ],
}
CLUSTER_JOBS = "name,arrival,maps,map_seconds,reduces,reduce_seconds\na,0,4,10,1,20\nb,5,8,10,0,0\n"
NODES = "[[node]]\ncount = 2\nslots = 2\n"
PENALTY = """
import malleable as mb
plan = mb.plan(mb.Jobs([3, 5]), 2, "sum:custom", penalty=lambda job, end: end * end)
assert plan.value == 1.5**2 + 4.0**2, plan
"""
MATCHING = """
import malleable as mb
assert abs(mb.match_classes([1, 1], [[2, 1], [1, 2]]).growth - 2.0) < 1e-9
"""
DASK = """
import malleable as mb
try:
    from distributed import Client
except ImportError:
    mb.engines.Dask("tcp://127.0.0.1:1")
with Client(processes=False, n_workers=1, dashboard_address=":0") as client:
    with mb.Executor(engine=mb.engines.Dask(client)) as pool:
        assert pool.submit(pow, 2, 3).result() == 8
"""
PARQUET = """
import sys
from pathlib import Path
import malleable as mb
mb.read_jobs("jobs.csv")
try:
    mb.read_jobs("jobs.parquet")
except ImportError as error:
    sys.exit(f"malleable: error: {error}")
except ValueError as error:  # read, and found not to be one
    assert "jobs.parquet" in str(error), error
"""

CLUSTER = ["simulate", "cluster.csv", "--model", "cluster", "--cluster", "nodes.toml"]

# What is run, the extra that it needs, and what it prints or writes if that is there.
CASES = {
    "version": (["--version"], None, "malleable "),
    "help": (["--help"], None, "usage: malleable"),
    **{
        f"{command} help": ([command, "--help"], None, f"usage: malleable {command}")
        for command in ("plan", "simulate", "bench", "reproduce", "demo", "report")
    },
    "plan": (["plan", "jobs.csv", "--slots", "100", "--explain"], None, "lower bound"),
    "plan json": (["plan", "jobs.csv", "--slots", "100", "--json", "-"], None, '"value"'),
    "plan flows": (["plan", "flows.json", "--objective", "sum:response"], None, "FLOWFLEX"),
    "plan plot": (["plan", "jobs.csv", "--slots", "100", "--plot", "p.png"], "plot", "p.png"),
    "plan flows plot": (["plan", "flows.json", "--plot", "f.png"], "plot", "f.png"),
    "cluster": (CLUSTER, None, "flex"),
    "cluster adaptive": ([*CLUSTER, "--policy", "adaptive-literal"], "lp", "adaptive-literal"),
    "cluster plot": ([*CLUSTER, "--plot", "c.png"], "plot", "c.png"),
    "records csv": ([*CLUSTER, "--records", "r.csv"], None, "r.csv"),
    "records parquet": ([*CLUSTER, "--records", "r.parquet"], "tables", "r.parquet"),
    "reproduce flowflex": (["reproduce", "flowflex-fig10", "--simulations", "1"], None, "flowflex"),
    "reproduce overlap": (["reproduce", "tandem-fig7", "--jobs", "500"], None, "max-srpt"),
    "reproduce asrpt": (["reproduce", "asrpt-fig8", "--simulations", "1"], None, "asrpt"),
    "reproduce adaptive": (["reproduce", "adaptive-fig4", "--simulations", "2"], "lp", "adaptive"),
    "reproduce plot": (
        ["reproduce", "flowflex-fig10", "--simulations", "1", "--plot", "x.png"],
        "plot",
        "x.png",
    ),
    "report": (
        ["report", "cluster.csv", "--slots", "4", "--quick"],
        None,
        "Equal shares (FAIR) with its best setting",
    ),
    "report page": (
        ["report", "cluster.csv", "--slots", "4", "--quick", "--html", "r.html"],
        "report",
        "r.html",
    ),
    "bench": (["bench", "--jobs", "500", "--epochs", "20"], None, "median"),
    "demo": (["demo"], None, "sum:response"),
    "custom penalty": (PENALTY, "custom", ""),
    "class matching": (MATCHING, "lp", ""),
    "dask": (DASK, "dask", ""),
    "hyperqueue": (
        ["run", "jobs.toml", "--slots", "1", "--engine", "hyperqueue"],
        "hyperqueue",
        "output in",
    ),
    "read parquet": (PARQUET, "tables", ""),
}


@functools.cache
def environment(extras):
    """The scripts of an environment with the wheel and these extras, made once a run."""
    folder = WHEEL.parent.parent / "build" / "environments" / extras
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    wanted = {"none": "", "all": "[" + ",".join(sorted(EXTRAS)) + "]"}.get(extras, f"[{extras}]")
    install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{WHEEL}{wanted}"]
    subprocess.run([folder / "bin" / "python", *install], check=True)
    return folder / "bin"


def run(command, place):
    return subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)


@pytest.fixture
def place(tmp_path):
    (tmp_path / "jobs.csv").write_text(TABLE)
    (tmp_path / "jobs.parquet").write_bytes(b"PAR1 and nothing more PAR1")
    (tmp_path / "flows.json").write_text(json.dumps(FLOWS))
    (tmp_path / "cluster.csv").write_text(CLUSTER_JOBS)
    (tmp_path / "nodes.toml").write_text(NODES)
    (tmp_path / "jobs.toml").write_text('[[job]]\nname = "a"\ncommand = "true"\n')
    return tmp_path


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("extras", SETS)
def test_command(extras, case, place):
    what, needs, expected = CASES[case]
    scripts = environment(extras)
    script = isinstance(what, str)
    command = [scripts / "python", "-c", what] if script else [scripts / "malleable", *what]
    done = run(command, place)
    there = EXTRAS if extras == "all" else {extras}
    if needs is None or needs in there:
        assert done.returncode == 0, done.stderr
        assert expected in done.stdout
        picture = place / expected
        assert not expected.endswith((".png", ".csv", ".parquet")) or picture.stat().st_size > 50
        return
    assert done.returncode == 1, done
    last = done.stderr.strip().splitlines()[-1]
    assert f"malleable[{needs}]" in last
    assert script or done.stderr.count("\n") == 1, done.stderr


@pytest.mark.parametrize("extras", SETS)
def test_demo_draws_where_it_can(extras, place):
    scripts = environment(extras)
    done = run([scripts / "malleable", "demo"], place)
    assert done.returncode == 0, done.stderr
    drawn = (place / "out" / "packing.png").exists()
    assert drawn == (extras in ("plot", "all"))
    assert drawn or "malleable[plot]" in done.stderr
