"""The command `bankml`."""

import sys


def main() -> None:
    """Run the command line of this process and exit with its status."""
    from bankml.cli.app import run

    sys.exit(run(sys.argv[1:]))
