"""A real Slurm on loopback: munge, a controller and made-up nodes, started as root from Debian's packages.

Needs ``slurmctld slurmd slurm-client munge slurm-wlm-basic-plugins`` and root; `why_not` says what is
missing. Jobs and governors run as a plain user that is made for it. No systemd, cgroups or database.
"""

import fcntl
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

USER = "malleable-test"
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "useradd", "setpriv")
PATIENCE = 120.0
_SYSTEM = ("/usr/sbin", "/sbin", "/usr/bin", "/bin")
_PATH = os.pathsep.join(_SYSTEM)

_CONF = """\
ClusterName=malleable
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={base}/run/munge.socket
CredType=cred/munge
StateSaveLocation={base}/state
SlurmdSpoolDir={base}/spool/%n
SlurmctldPidFile={base}/run/slurmctld.pid
SlurmdPidFile={base}/run/slurmd.%n.pid
SlurmctldLogFile={base}/log/slurmctld.log
SlurmdLogFile={base}/log/slurmd.%n.log
SlurmctldDebug=info
SlurmdDebug=error
Epilog={base}/etc/nothing.sh
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc={base}/log/ended
SelectType=select/cons_tres
SelectTypeParameters={shares}
SchedulerType=sched/backfill
SchedulerParameters=default_queue_depth=1000,sched_min_interval=0,batch_sched_delay=0,bf_interval=1
PriorityType=priority/{priority}
SlurmdParameters=config_overrides
ReturnToService=2
MaxJobCount=300000
MaxArraySize=300001
MinJobAge=60
MessageTimeout=30
KillWait=2
InactiveLimit=0
PropagateResourceLimits=NONE
{extra}
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={node_port} CPUs={slots} RealMemory=100000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
"""


def why_not():
    """What keeps a Slurm from being started here; empty: nothing."""
    if os.geteuid() != 0:
        return "needs root, to start a Slurm"
    missing = [name for name in PROGRAMS if shutil.which(name, path=_PATH) is None]
    if missing:
        return f"needs Slurm and munge: {', '.join(missing)} not installed"
    return ""


def plain_user(name=USER):
    """A user without rights; made where there is none, by one process at a time."""
    with (Path(tempfile.gettempdir()) / "malleable-users.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with suppress(KeyError):
            return pwd.getpwnam(name)
        subprocess.run(
            [shutil.which("useradd", path=_PATH), "-M", "-N", "-d", "/nonexistent",
             "-s", "/bin/sh", name],
            check=True, capture_output=True,
        )  # fmt: skip
        return pwd.getpwnam(name)


def _free_ports(count):
    held = [socket.socket() for _ in range(count)]
    try:
        for each in held:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in held]
    finally:
        for each in held:
            each.close()


class SlurmCluster:
    """Up while it is entered.

    ``slots``: of its one node, which has 100,000 MiB; ``priority``: ``basic`` or ``multifactor``;
    ``extra``: lines of the configuration; ``shares``: what is shared out.
    """

    def __init__(self, slots=24, priority="basic", extra="", shares="CR_CPU"):
        self.base = Path(tempfile.mkdtemp(prefix="malleable-slurm-"))
        self.base.chmod(0o755)
        for name in ("etc", "run", "log", "state", "spool", "spool/n1", "home", "work"):
            (self.base / name).mkdir()
        self.user, self.other = plain_user(), plain_user(f"{USER}2")
        for name in ("home", "work"):
            os.chown(self.base / name, self.user.pw_uid, self.user.pw_gid)
        self._governors = []
        port, node_port = _free_ports(2)
        (self.base / "etc" / "nothing.sh").write_text("#!/bin/sh\nexit 0\n")
        (self.base / "etc" / "nothing.sh").chmod(0o755)
        (self.base / "etc" / "munge.key").write_bytes(os.urandom(1024))
        (self.base / "etc" / "munge.key").chmod(0o400)
        self.conf = self.base / "etc" / "slurm.conf"
        self.conf.write_text(
            _CONF.format(
                base=self.base, host=socket.gethostname().partition(".")[0], port=port,
                node_port=node_port, slots=slots, priority=priority, extra=extra,
                shares=shares,
            )
        )  # fmt: skip
        self.environment = {
            "PATH": _PATH,
            "SLURM_CONF": str(self.conf),
            "HOME": str(self.base / "home"),
            "LC_ALL": "C.UTF-8",
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        }

    def __enter__(self):
        run, etc = self.base / "run", self.base / "etc"
        try:
            self._command(
                "munged", "--force", f"--key-file={etc / 'munge.key'}",
                f"--socket={run / 'munge.socket'}", f"--pid-file={run / 'munged.pid'}",
                f"--log-file={self.base / 'log' / 'munged.log'}",
                f"--seed-file={run / 'munged.seed'}",
            )  # fmt: skip
            self.start_controller(clean=True)
            self._command("slurmd", "-f", str(self.conf), "-N", "n1", "-c")
            self.wait(lambda: self.run("sinfo", "-h", "-o", "%t").stdout.strip() == "idle")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error):
        for process in self._governors:
            process.kill()
            process.wait()
        if self._pid("slurmctld"):
            subprocess.run(
                ["scancel", "-f", "-t", "R,PD", "-p", "main"], env=self.environment,
                capture_output=True, check=False, timeout=PATIENCE,
            )  # fmt: skip
        for name in ("slurmctld", "slurmd.n1", "munged"):
            self._stop(name, signal.SIGTERM)
        self._kill_steps()
        for _ in range(50):  # tasks that are being ended may still write
            shutil.rmtree(self.base, ignore_errors=True)
            if not self.base.exists():
                break
            time.sleep(0.1)

    def _command(self, name, *words):
        subprocess.run(
            [shutil.which(name, path=_PATH), *words], env=self.environment, check=True,
            capture_output=True, timeout=PATIENCE,
        )  # fmt: skip

    def _pid(self, name):
        try:
            pid = int((self.base / "run" / f"{name}.pid").read_text())
            os.kill(pid, 0)
        except (OSError, ValueError):
            return 0
        return pid

    def _stop(self, name, how):
        pid = self._pid(name)
        if not pid:
            return
        os.kill(pid, how)
        until = time.monotonic() + 10.0
        while self._pid(name) and time.monotonic() < until:
            time.sleep(0.02)
        if self._pid(name):
            os.kill(pid, signal.SIGKILL)

    def _kill_steps(self):
        """Those that watch over tasks try for hours to tell a controller that is gone."""
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if (process / "cwd").readlink().is_relative_to(self.base):
                    os.kill(int(process.name), signal.SIGKILL)
            except OSError:  # it has ended
                continue

    def start_controller(self, clean=False):
        self._command("slurmctld", "-f", str(self.conf), *(["-c"] if clean else []))

    def stop_controller(self, how=signal.SIGTERM):
        self._stop("slurmctld", how)

    def resume(self):
        """Node back to work, as an operator does after a controller lost what ran."""
        self.wait(
            lambda: self.run("sinfo", "-h", "-o", "%t").stdout.strip("*\n ") not in ("down", "")
        )
        subprocess.run(
            ["scontrol", "update", "NodeName=n1", "State=RESUME"], env=self.environment,
            capture_output=True, check=False, timeout=PATIENCE,
        )  # fmt: skip

    def wait(self, holds, patience=PATIENCE):
        until = time.monotonic() + patience
        while not holds():
            if time.monotonic() > until:
                log = (self.base / "log" / "slurmctld.log").read_text()[-2000:]
                raise AssertionError(f"waited for {patience} s\n{log}")
            time.sleep(0.05)

    def as_user(self, who=None):
        """Arguments of `subprocess.run` by which a plain user runs it."""
        who = who or self.user
        return {
            "user": who.pw_uid, "group": who.pw_gid, "extra_groups": [],
            "env": self.environment, "cwd": self.base / "work",
        }  # fmt: skip

    def run(self, *words, who=None, lines=None):
        """A command as the plain user, by default."""
        return subprocess.run(
            words, input=lines, capture_output=True, text=True, check=False,
            timeout=2 * PATIENCE, **self.as_user(who),
        )  # fmt: skip

    def shell(self, lines):
        """A script of the plain user's, with our command on its path."""
        tools = self.base / "bin"
        tools.mkdir(exist_ok=True)
        tool = tools / "malleable"
        tool.write_text(f'#!/bin/sh\nexec {sys.executable} -m malleable "$@"\n')
        tool.chmod(0o755)
        given = self._ours()
        given["args"] = [*given["args"][:-3], "sh", "-eu", "-c", lines]
        given["env"] = {**given["env"], "PATH": f"{tools}{os.pathsep}{_PATH}"}
        return subprocess.run(capture_output=True, check=False, timeout=4 * PATIENCE, **given)

    def _ours(self, *words, who=None):
        """Arguments of a process of ours; the user may read files, as Python may be root's alone."""
        who = who or self.user
        return {
            "args": [
                "setpriv", f"--reuid={who.pw_uid}", f"--regid={who.pw_gid}", "--clear-groups",
                "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search",
                sys.executable, "-m", "malleable", *words,
            ],
            "env": self.environment, "cwd": self.base / "work", "text": True,
        }  # fmt: skip

    def malleable(self, *words, lines=None, who=None):
        return subprocess.run(
            input=lines, capture_output=True, check=False, timeout=4 * PATIENCE,
            **self._ours(*words, who=who),
        )  # fmt: skip

    def govern(self, *words, who=None):
        """A governor as a process of the plain user."""
        process = subprocess.Popen(
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True, **self._ours("govern", "slurm", *words, who=who),
        )  # fmt: skip
        self._governors.append(process)
        return process

    def array(self, tasks, seconds, *words, name="a", who=None):
        """An array of sleeps; its number."""
        done = self.run(
            "sbatch", "--parsable", "-J", name, f"--array={tasks}" if isinstance(tasks, str)
            else f"--array=1-{tasks}", "-o", "/dev/null", *words, "--wrap", f"sleep {seconds}",
            who=who,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return int(done.stdout.split(";")[0])

    def seen(self, form, *words):
        """Lines of squeue."""
        environment = self.environment | {"SLURM_BITSTR_LEN": "0", "SLURM_TIME_FORMAT": "%s"}
        done = subprocess.run(
            ["squeue", "-h", "-o", form, *words], capture_output=True, text=True, check=True,
            env=environment, timeout=PATIENCE,
        )  # fmt: skip
        return done.stdout.splitlines()
