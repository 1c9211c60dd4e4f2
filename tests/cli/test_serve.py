"""`bankml serve` and its options."""

import os
import subprocess
import sys
from datetime import UTC, datetime

import httpx
import pytest

from tests.serving import running


@pytest.mark.parametrize(
    ("given", "environment", "seconds"),
    [("90s", "1h", 90), ("-1", "1h", None), ("1h30m", "", 5400), ("0", "-1", 0), (None, "90", 90), (None, "", 300)],
)
def test_keep_alive_goes_before_the_environment(stocked_home, given, environment, seconds):
    arguments = ["--keep-alive", given] if given else []
    with running(stocked_home, "--model", "all-minilm", *arguments, BANKML_KEEP_ALIVE=environment) as server:
        models = httpx.get(f"{server.url}/api/ps").json()["models"]
    left = [(datetime.fromisoformat(m["expires_at"]) - datetime.now(UTC)).total_seconds() for m in models]
    if seconds == 0:
        assert left == []
    else:
        assert left[0] > 9e9 if seconds is None else seconds - 30 < left[0] <= seconds


@pytest.mark.parametrize("given", ["5x", "", "for ever", "1e3", "nan"])
def test_no_duration(given):
    command = [sys.executable, "-m", "bankml", "serve", "--native", "--port", "0", "--keep-alive", given]
    done = subprocess.run(command, env=os.environ, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--keep-alive" in done.stderr
    assert "a duration such as 60s, 5m or 1h30m" in " ".join(done.stderr.replace("\u2502", " ").split())
