"""Benchmarks against rivals: every rule against the plainest rivals, run the way a user runs it.

    python -m benchmarks.rivals [SECTION ...] [--quick] [--json FILE] [--keep]

One table a section. Of each instance: ours (what a user gets by default first, then what else we have), with
the ratio to the best rival in brackets, ``!`` where a rival wins; every rival, ``*`` where it beats all of
ours; floors, which no rule can have or reach (right sizes, lower bounds); of all draws the worst ratio of the
default to the best rival; processor seconds of one run of each rule, in the order of the columns.
Exit status 1: a rule crashed; what was measured is printed.

``--quick`` takes fewer seeds and smaller instances (some ten seconds of processor time). ``--draws N``
at most N draws of each instance. ``--seeds FIRST`` draws all instances anew, with the seeds FIRST, FIRST + 1
and so on; with ``--keep`` these figures go into a column of their own. ``--json`` writes all figures;
``--keep`` writes docs/internals/rivals.md, where a row's first figures stay beside its present ones;
``--keep --measured FILE`` does so with figures that ``--json`` wrote.

To add an instance: a function of a seed in `benchmarks.instances` that says its parameters, and a row in a
section of `benchmarks.rivals.sections`::

    yield Row(
        "ten jobs of one second",                               # what the table calls it
        lambda rule, seed: measured(rule, ten_jobs(seed)),      # a number, less being better
        ours=("auto", "flex"), rivals=("FAIR",), seeds=range(5), floors=("SRPT, right sizes",),
    )

To add a rival: a function ``rule(state, now) -> slots`` in `benchmarks.rivals.rules`, and its name where the
section looks names up. A new section is a function of ``quick`` that yields rows, under
``@section(name, title)``, in a module that `benchmarks.rivals.sections` imports.
"""
