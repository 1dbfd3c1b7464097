"""Names of policies and objectives as types, so that editors offer them. Texts are taken, too.

The core's registry says which names there are (`malleable.policies`); a test compares both.
"""

from typing import Literal

JobPolicy = Literal["flex", "fair", "fifo", "wdeq", "hesrpt"]
FlowPolicy = Literal["flowflex", "flowflex-fast", "flowflex-literal", "fair", "fifo"]
TandemPolicy = Literal[
    "fcfs", "ps", "wps", "k-lps", "max-srpt", "split-srpt", "two-srpt", "best", "makespan"
]  # fmt: skip
SlottedPolicy = Literal["asrpt", "unlock", "dsrpt", "srpt", "lrpt", "fifo", "fair"]
ClusterPolicy = Literal[
    "flex", "auto", "fair", "fifo", "wdeq", "srpt", "max-srpt", "asrpt", "hesrpt", "gittins",
    "flowflex", "flowflex-fast", "fcfs", "easy", "easy-sjf", "easy-auto", "conservative", "adaptive",
    "adaptive-literal",
]  # fmt: skip
ObjectiveName = Literal[
    "sum:response", "sum:completion", "sum:stretch", "sum:tardy", "sum:tardiness", "sum:lateness",
    "sum:sla", "sum:strict", "sum:custom",
    "max:response", "max:completion", "max:stretch", "max:tardy", "max:tardiness", "max:lateness",
    "max:sla", "max:strict", "max:custom",
]  # fmt: skip
