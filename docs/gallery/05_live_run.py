"""A live run.

The script runs two jobs of commands on two slots. A run writes into its journal when each task began and
ended, and the picture is drawn from the journal. Each row is a slot. Each block is a task.
"""

import subprocess
from pathlib import Path

job = '[[job]]\nname = "{}"\ncommand = "sleep {}"\nover = {{range = {}}}\n'
Path("jobs.toml").write_text(job.format("long", 0.3, 4) + job.format("short", 0.1, 4))
run = ["malleable", "run", "jobs.toml", "--slots", "2", "-q"]
subprocess.run(run, check=True, stdin=subprocess.DEVNULL)
subprocess.run(["malleable", "status", "--plot", "run.png", "--force", "-q"], check=True)
