"""`bankml serve` and its options."""

import json
import os
import subprocess
import sys
import time
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


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (["--allow-licence", "unknown"], "(meaning, 1 of 1 embedded)"),
        ([], "not all is embedded: unsaid has no licence that is known"),
    ],
    ids=["allowed", "refused"],
)
def test_a_history_is_embedded_with_a_licence_that_is_not_open_only_if_it_is_named(unsaid, tmp_path, given, status):
    history, found = tmp_path / "a.history", ""
    history.write_text(json.dumps({"user": "why is the sky blue?", "assistant": "it scatters light"}) + "\n")
    arguments = ["--model", str(unsaid), "--history", str(history), *given]
    with running(tmp_path, *arguments, BANKML_API_KEY="open-sesame") as server:
        end, headers = time.monotonic() + 60, {"X-API-Key": "open-sesame"}
        while status not in found and time.monotonic() < end:
            found = httpx.post(f"{server.url}/history/search", json={"query": "sky"}, headers=headers).json()["status"]
            time.sleep(0.05)
    assert status in found


@pytest.mark.parametrize("given", ["5x", "", "for ever", "1e3", "nan"])
def test_no_duration(given):
    command = [sys.executable, "-m", "bankml", "serve", "--native", "--port", "0", "--keep-alive", given]
    done = subprocess.run(command, env=os.environ, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--keep-alive" in done.stderr
    assert "a duration such as 60s, 5m or 1h30m" in " ".join(done.stderr.replace("\u2502", " ").split())
