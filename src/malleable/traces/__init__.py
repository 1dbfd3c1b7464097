"""Traces: what a file says of recorded jobs, and the tables of every model that are made of it.

`read` finds the format of a file by its content. Each format has one file in this folder; `formats` lists them.
"""

from malleable.traces.formats import read
from malleable.traces.phases import Phase
from malleable.traces.trace import Trace

__all__ = ["Phase", "Trace", "read"]
