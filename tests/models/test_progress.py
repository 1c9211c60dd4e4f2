import io
import os
import pty
import subprocess
import sys

import pytest

from bankml.models.progress import shown, silent


def test_a_callback_is_used_as_it_is() -> None:
    heard = []
    with shown(lambda *event: heard.append(event)) as progress:
        progress("reading", 1, 2)
    assert heard == [("reading", 1, 2)]


def test_nothing_is_shown_where_no_person_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stderr)
    with shown(None) as progress:
        progress("reading", 1, 2)
    assert progress is silent
    assert stderr.getvalue() == ""


def test_a_terminal_gets_a_bar_on_stderr() -> None:
    script = "from bankml.models.progress import shown\nwith shown(None) as show:\n  show('reading', 1, 2)"
    try:
        ours, theirs = pty.openpty()
    except OSError as error:
        pytest.skip(f"no terminal to be had here: {error}")
    command, env = [sys.executable, "-c", script], {**os.environ, "TERM": "xterm"}
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, env=env)
    os.close(theirs)
    assert done.returncode == 0
    assert done.stdout == b""
    assert b"reading" in os.read(ours, 65536)
    os.close(ours)
