"""A live run.

Two jobs of commands on two slots, drawn from the journal of the run: a row is a slot, a block is a task.
"""

import subprocess
from pathlib import Path

job = '[[job]]\nname = "{}"\ncommand = "sleep {}"\nover = {{range = "1-{}"}}\n'
Path("jobs.toml").write_text(job.format("long", 0.3, 4) + job.format("short", 0.1, 4))
run = ["malleable", "run", "jobs.toml", "--slots", "2", "-q"]
subprocess.run(run, check=True, stdin=subprocess.DEVNULL)
subprocess.run(["malleable", "status", "--plot", "run.png", "--force", "-q"], check=True)
