"""The command `bankml`."""

import io
import sys


def main() -> None:
    """Run the command line of this process and exit with its status."""
    from bankml.cli.app import run
    from bankml.cli.output import note_warnings

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="surrogateescape")  # a path that is not UTF-8 leaves with the bytes it came with
    note_warnings()
    sys.exit(run(sys.argv[1:]))
