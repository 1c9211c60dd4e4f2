"""Bars on a terminal, once somebody has waited for them."""

import os
import pty
import subprocess
import sys
from contextlib import suppress

import pytest

SCRIPT = """
import bankml.cli.progress, bankml.cli.output
bankml.cli.progress.PATIENCE = {patience}
with bankml.cli.progress.progress("reading [b]", "exchanges") as show:
    show(1, None)
    show(2, 3)
"""


def on_a_terminal(script: str) -> str:
    """What a program shows on a stderr that is one."""
    try:
        ours, theirs = pty.openpty()
    except OSError as error:
        pytest.skip(f"no terminal to be had here: {error}")
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    shown = b""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=theirs, env=env) as process:
        os.close(theirs)
        with suppress(OSError):  # the end of a terminal
            while more := os.read(ours, 65536):
                shown += more
        said = process.stdout.read()
    os.close(ours)
    assert (process.returncode, said) == (0, b"")
    return shown.decode()


def test_who_has_waited_is_shown_how_far_it_is():
    shown = on_a_terminal(SCRIPT.format(patience=0))
    for part in ("reading [b]", "2/3", "exchanges"):
        assert part in shown


def test_what_is_done_at_once_is_not_shown():
    assert "reading" not in on_a_terminal(SCRIPT.format(patience=60))


def test_several_works_have_a_bar_each():
    script = (
        "from bankml.cli.progress import counted\nwith counted() as show:\n  show('one', 1, 2)\n  show('two', 3, 4)"
    )
    shown = on_a_terminal(script)
    assert all(part in shown for part in ("one", "1/2", "two", "3/4"))
