"""The sections; importing this package registers them all, in this order."""

from benchmarks.ground.sections import periods  # noqa: F401, I001
from benchmarks.ground.sections import deadlines  # noqa: F401
from benchmarks.ground.sections import clusters  # noqa: F401
from benchmarks.ground.sections import workflows  # noqa: F401
from benchmarks.ground.sections import speedups  # noqa: F401
from benchmarks.ground.sections import events  # noqa: F401
from benchmarks.ground.sections import start  # noqa: F401
from benchmarks.ground.sections import rigid  # noqa: F401
from benchmarks.ground.sections import late  # noqa: F401
from benchmarks.ground.sections import tandem  # noqa: F401
