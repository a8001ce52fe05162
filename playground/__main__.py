"""`python -m playground`: the command line."""

import sys

from playground.cli import main

if __name__ == "__main__":
    sys.exit(main())
