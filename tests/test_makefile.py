"""`make` on a machine that lacks something: one line that names the packages."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAKE = shutil.which("make")


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A PATH that holds a shell's basics, a Python, and no compiler."""
    binaries = tmp_path / "bin"
    binaries.mkdir()
    for name in ("sh", "touch", "tr", "env"):
        (binaries / name).symlink_to(shutil.which(name) or name)
    return binaries


def make(bare: Path, tmp_path: Path, python: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(bare), "HOME": str(tmp_path)}
    command = [MAKE or "make", f"VENV={tmp_path}/venv", f"PYTHON={python}", "build"]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


@pytest.mark.skipif(MAKE is None, reason="needs make")
def test_what_is_missing_is_named(bare: Path, tmp_path: Path) -> None:
    python = bare / "python3"
    python.write_text("#!/bin/sh\nexit 1\n")  # a Python without venv and headers, as Debian's is before its packages
    python.chmod(0o755)
    done = make(bare, tmp_path, "python3")
    assert done.returncode != 0
    line = next(line for line in done.stderr.splitlines() if "apt-get install" in line)
    assert line.endswith("apt-get install g++ python3-venv python3-dev")
    assert not (tmp_path / "venv").exists()


@pytest.mark.skipif(MAKE is None, reason="needs make")
def test_a_missing_python_is_named(bare: Path, tmp_path: Path) -> None:
    done = make(bare, tmp_path, "python3")
    assert "apt-get install python3 g++" in done.stderr


@pytest.mark.skipif(MAKE is None, reason="needs make")
def test_an_old_python_is_named(bare: Path, tmp_path: Path) -> None:
    (bare / "c++").symlink_to(shutil.which("true") or "/bin/true")
    old = bare / "python3"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.9.2\ncase "$2" in *version_info*) exit 1;; esac\n')
    old.chmod(0o755)
    done = make(bare, tmp_path, "python3")
    assert "needs Python 3.11 or newer, Python 3.9.2 was found" in done.stderr


@pytest.mark.skipif(MAKE is None, reason="needs make")
@pytest.mark.parametrize("built", [["a", "b"], ["a"], []])
def test_a_replay_that_was_not_built_fails(tmp_path: Path, built: list[str]) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    for folder in ("build/cpp", "tests/fuzz/corpus/a", "tests/fuzz/corpus/b"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("a", "b"):
        (tmp_path / f"tests/fuzz/fuzz_{name}.cpp").touch()
    for name in ("bankml_tests", *(f"replay_fuzz_{name}" for name in built)):
        (tmp_path / "build/cpp" / name).symlink_to(shutil.which("true") or "/bin/true")
    command = [MAKE or "make", "-o", "build/cpp/.built", "test-cpp"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode == 0) == (built == ["a", "b"]), done.stderr
