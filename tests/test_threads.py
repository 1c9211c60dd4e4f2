"""How many threads: affinity and the settings (csrc/cpu)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bankml import Encoder
from bankml._engine import default_threads


def in_process(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ | environment
    )
    return done.stdout.strip()


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
def test_affinity_is_honoured() -> None:
    code = "import os; os.sched_setaffinity(0, {%d}); import bankml._engine as e; print(e.default_threads())"
    assert in_process(code % min(os.sched_getaffinity(0))) == "1"


def test_the_default_is_within_the_machine() -> None:
    assert 1 <= default_threads() <= len(os.sched_getaffinity(0))


def test_settings_and_arguments(minilm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Encoder(minilm).threads == default_threads()
    monkeypatch.setenv("BANKML_THREADS", "1")
    assert Encoder(minilm).threads == 1
    assert Encoder(minilm, threads=3).threads == 3
