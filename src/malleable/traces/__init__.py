"""Traces: what a file knows of jobs, and tables of every model made of it.

`read` knows every format by its content. A format is one file of this folder, which `formats` names.
"""

from malleable.traces.formats import read
from malleable.traces.phases import Phase
from malleable.traces.trace import Trace

__all__ = ["Phase", "Trace", "read"]
