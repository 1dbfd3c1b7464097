"""``python -m malleable``."""

import sys

from malleable.cli import main

if __name__ == "__main__":
    sys.exit(main())
