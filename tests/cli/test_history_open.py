"""`bankml history open` from the outside, and whose browser it starts."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from bankml.cli.browser import signpost

MARK = "xyzzyMARKERplugh"


@pytest.fixture
def history(tmp_path: Path) -> Path:
    path = tmp_path / f"{MARK}.history"
    path.write_text(json.dumps({"user": f"the {MARK} sky", "assistant": "blue"}) + "\n")
    return path


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "bankml", "history", "open", *map(str, arguments)]


def test_it_serves_until_it_is_told_to_end_and_logs_no_word(history):
    asked = command(history, "--words", "--json", "--no-browser")
    env = {**os.environ, "TMPDIR": str(history.parent)}
    process = subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    try:
        ready = json.loads(process.stdout.readline())
        assert list(history.parent.iterdir()) == [history]  # no signpost that no browser would follow
        assert ready["file"] == str(history)
        base = ready["url"].partition("/ui")[0]
        assert base.startswith("http://127.0.0.1:")
        with httpx.Client(base_url=base) as http:
            link = http.get(ready["url"].removeprefix(base))
            http.headers["X-Bankml-Proof"] = link.headers["location"].partition("=")[2]
            for body in ({"query": MARK}, {"query": [MARK]}, {MARK: MARK}, {"query": MARK, "k": 0}):
                http.post(f"/history/search?{MARK}", json=body)
            assert http.post("/history/search", json={"query": MARK}).json()["results"][0]["id"] == 0
            history.unlink()
            assert http.post("/history/search", json={"query": MARK}).status_code == 503
    finally:
        process.send_signal(signal.SIGTERM)
        out, told = process.communicate(timeout=20)
    assert (process.returncode, out, told) == (0, "", "")


@pytest.mark.parametrize("json_wanted", [True, False])
def test_a_history_that_is_not_there_is_told_before_anything_is_opened(tmp_path, json_wanted):
    arguments = [tmp_path / "none.history", "--words", *["--json"] * json_wanted]
    done = subprocess.run(command(*arguments), capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    told = json.loads(done.stdout)["error"] if json_wanted else done.stderr
    assert "none.history" in told
    assert "http://" not in done.stdout + done.stderr


def test_a_signpost_is_private_leads_there_and_goes_away():
    address = 'http://127.0.0.1:1/ui?token=a&"<b>'
    with signpost(address) as page:
        assert page.stat().st_mode & 0o777 == 0o600
        text = page.read_text()
        assert 'url=http://127.0.0.1:1/ui?token=a&amp;&quot;&lt;b&gt;"' in text
        assert 'content="no-referrer"' in text
    assert not page.exists()


def test_no_browser_takes_the_terminal(tmp_path):
    """One that lives in it would keep the server from it; the person may name it all the same."""
    program = "import sys, pathlib; from bankml.cli.browser import show; print(show(pathlib.Path('/page')))"
    browser = tmp_path / "w3m"
    browser.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path}/shown\n')
    browser.chmod(0o700)
    bare = {"PATH": str(tmp_path), "TERM": "xterm", "HOME": str(tmp_path)}

    def shown(**environment: str) -> str:
        return subprocess.run(
            [sys.executable, "-c", program], env=bare | environment, capture_output=True, text=True, timeout=60
        ).stdout.strip()

    assert shown() == "False"
    assert shown(PATH="/nowhere") == "False"
    assert not (tmp_path / "shown").exists()
    assert shown(BROWSER="w3m") == "True"
    assert (tmp_path / "shown").read_text() == "file:///page\n"
