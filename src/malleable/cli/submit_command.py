"""``malleable submit``: hands jobs of commands over to Slurm, each as a job array, with its own journal."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from malleable.cli.outputs import Outputs, output_arguments
from malleable.cli.run_command import job_arguments, names_file, rows_of, source_arguments
from malleable.cli.status_command import JOURNAL
from malleable.cli.terminal import adder
from malleable.live.jobs_file import parse_jobs
from malleable.live.own_files import check_parent, own_folder
from malleable.live.slurm.commands import Slurm
from malleable.live.slurm.submit import submit
from malleable.live.slurm.submitted import FOLDER
from malleable.validation import check_slots
from malleable.view.text import Column, columns_table, number, printable


def arguments(parser: argparse.ArgumentParser) -> None:
    add = adder(parser)
    source_arguments(parser)
    add("--cpus N", "processors of a task", int, 1)
    add("sbatch OPTION", "options for sbatch, after --", nargs="*")
    told = "journal of runs; what is submitted is kept beside it, so nodes must see its folder"
    add("--journal FILE", told, default=JOURNAL)
    job_arguments(parser, "end within this time from now on")
    output_arguments(parser)


def run(asked: argparse.Namespace) -> int:
    """Hand the commands or the jobs of FILE over to Slurm, or a COMMAND for each line of standard input. Each
    job becomes an array. If a job says that it comes after another job, Slurm starts it after that job. Then
    malleable govern slurm puts the arrays in order; malleable status and logs show what becomes of the jobs.
    """
    outputs = Outputs(asked, inputs=[asked.file if names_file(asked) else None])
    rows, base = rows_of(asked)
    jobs = parse_jobs(rows, base)
    cpus = check_slots(asked.cpus, "cpus")
    stamp = f"{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}"
    above = Path(asked.journal).absolute().parent
    check_parent(above)
    own_folder(above / FOLDER)
    journal = above / FOLDER / f"{stamp}.sqlite"
    made = submit(Slurm(), jobs, rows, journal, asked.sbatch, cpus)
    columns: list[Column] = [
        ("job", lambda each: each.name),
        ("tasks", lambda each: number(each.tasks)),
        ("arrays", lambda each: ", ".join(map(str, each.arrays)) or "-"),
    ]
    result = {"journal": str(journal), "jobs": [each._asdict() for each in made]}
    title = f"handed over; journal: {printable(str(journal))}"
    return outputs.give(lambda: result, [columns_table(title, made, columns)])
