"""A HyperQueue server with one worker, in a process of its own, which tests can kill."""

import subprocess
import sys
from contextlib import contextmanager

SERVER = """
import sys
from hyperqueue import LocalCluster
from hyperqueue.cluster import WorkerConfig
with LocalCluster(worker_config=WorkerConfig(cores=int(sys.argv[1]))) as cluster:
    print("\\nready", cluster.cluster.server_dir, flush=True)
    sys.stdin.read()
"""


@contextmanager
def hyperqueue_server(cores):
    """The folder of a server, and its process; it ends with the block, or with the process of the test."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(cores)], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    with process:
        ready = (line for line in process.stdout if line.startswith("ready "))
        try:
            yield next(ready).removeprefix("ready ").rstrip("\n"), process
        finally:
            process.stdin.close()
