"""Tests of the installed wheel; `make environments` says which wheel, and with which extras."""

import os

collect_ignore_glob = [] if "MALLEABLE_WHEEL" in os.environ else ["test_*.py"]
