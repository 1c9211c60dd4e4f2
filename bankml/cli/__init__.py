"""The command `bankml`."""

import io
import signal
import sys


def main() -> None:
    """Run the command line of this process and exit with its status."""
    if sys.stderr is None:  # closed: what is told there is lost
        sys.stderr = io.StringIO()
    if sys.stdout is None:
        sys.exit("bankml: stdout is closed; send the output to a file, a pipe or /dev/null")
    try:
        from bankml.cli.app import run
        from bankml.cli.output import guard_output, note_news, note_warnings

        guard_output()
        note_warnings()
        note_news()
        status = run(sys.argv[1:])
        signal.signal(
            signal.SIGINT, signal.SIG_IGN
        )  # or it would end the interpreter that is ending, whose work is done
        sys.exit(status)
    except KeyboardInterrupt:  # while modules are imported
        sys.exit(130)
