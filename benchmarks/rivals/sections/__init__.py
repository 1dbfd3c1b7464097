"""The sections; importing this package registers them all, in this order."""

from benchmarks.rivals.sections import periods  # noqa: F401, I001
from benchmarks.rivals.sections import deadlines  # noqa: F401
from benchmarks.rivals.sections import clusters  # noqa: F401
from benchmarks.rivals.sections import workflows  # noqa: F401
from benchmarks.rivals.sections import speedups  # noqa: F401
from benchmarks.rivals.sections import events  # noqa: F401
from benchmarks.rivals.sections import start  # noqa: F401
from benchmarks.rivals.sections import rigid  # noqa: F401
from benchmarks.rivals.sections import late  # noqa: F401
from benchmarks.rivals.sections import tandem  # noqa: F401
from benchmarks.rivals.sections import slotted  # noqa: F401
