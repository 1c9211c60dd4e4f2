"""A program that ends while a history is embedded, or a query: at once, and as if nothing were at work."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys, time
from bankml import history
print(history.search(sys.argv[1], "a text to embed", wait=float(sys.argv[2])).status)
time.sleep(float(sys.argv[3]))
"""


@pytest.mark.parametrize(("wait", "pause"), [(0, 0), (5, 0.2)])
def test_a_program_may_end_at_any_time(write, models_home, minilm, wait, pause):
    path = write(*((f"question {number}", "word " * 800) for number in range(200)))
    env = os.environ | {"BANKML_HOME": str(models_home), "BANKML_EMBED_MODEL": str(minilm), "BANKML_THREADS": "1"}
    command = [sys.executable, "-c", PROGRAM, str(path), str(wait), str(pause)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "200 exchanges" in done.stdout
    cache = path.with_name(path.name + ".emb")
    assert not cache.exists() or cache.read_bytes().count(b"\n") < 200
