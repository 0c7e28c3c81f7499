"""``python -m policyctl`` is the ``policyctl`` command."""

import sys

from policyctl.cli.main import run

if __name__ == "__main__":
    sys.exit(run())
