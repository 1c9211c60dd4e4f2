"""How many threads: affinity and the settings (csrc/cpu)."""

import os
import subprocess
import sys
from collections.abc import Iterator
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


@pytest.fixture
def quota_of_half_a_core() -> Iterator[Path]:
    """A cgroup (v1 or v2) that may use half a core; skips where this process may not make one."""
    v1, v2 = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")
    group = (v1 if v1.is_dir() else v2) / f"bankml-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"cannot make a cgroup: {error}")
    try:
        if v1.is_dir():
            (group / "cpu.cfs_period_us").write_text("100000")
            (group / "cpu.cfs_quota_us").write_text("50000")
        else:
            (group / "cpu.max").write_text("50000 100000")
        yield group
    except OSError as error:
        pytest.skip(f"cannot set a quota: {error}")
    finally:
        group.rmdir()


def test_a_cgroups_quota_is_honoured(quota_of_half_a_core: Path) -> None:
    code = f"""
import os
open({str(quota_of_half_a_core / "cgroup.procs")!r}, "w").write(str(os.getpid()))
import bankml._engine as engine
print(engine.default_threads())
"""
    assert in_process(code) == "1"
