"""What docs/ollama.md shows besides curl: its Python and its systemd unit."""

import os
import re
import shutil
import subprocess
import sys
from ctypes.util import find_library
from pathlib import Path

import httpx
import pytest

from tests.clients.bits import bits

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "ollama.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(found) == 1
    return found[0]


def test_the_python_that_compares_two_servers(bge_m3):
    script = re.sub(r"http://127\.0\.0\.1:(18093|11434)", bge_m3.url, block("python"))
    done = subprocess.run([sys.executable, "-"], input=script, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "cosine 1.000000\n" * 3, done.stderr


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit, with this bankml in place of the one in the home folder."""
    file = tmp_path / "bankml.service"
    file.write_text(block("ini").replace("%h/bankml/.venv/bin", str(Path(sys.executable).parent)))
    return file


def test_systemd_finds_nothing_to_say_about_the_unit(unit, tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd is not installed")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--user", "--man=no", str(unit)],
        capture_output=True,
        text=True,
        env=os.environ | {"XDG_RUNTIME_DIR": str(tmp_path)},
        check=False,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.fixture
def sandbox(unit) -> list[str]:
    """The beginning of a command that runs as the unit's would."""
    if not shutil.which("systemd-analyze") or not find_library("seccomp"):
        pytest.skip("systemd or libseccomp is not installed")
    return [sys.executable, "-m", "tests.sandbox", str(unit)]


def test_the_server_works_within_what_the_unit_allows(serving, home, encoder, sandbox):
    with serving(home, "--model", "all-minilm", within=sandbox) as server:
        body = {"model": "all-minilm", "input": ["why is the sky blue?"] * 20}
        answers = [httpx.post(f"{server.url}/api/embed", json=body, timeout=60) for _ in range(3)]
        assert all(bits(answer.json()["embeddings"]) == bits(encoder.encode(body["input"])) for answer in answers)
        assert httpx.get(f"{server.url}/api/tags", timeout=60).status_code == 200


@pytest.mark.parametrize(
    ("forbidden", "fault"),
    [
        ("import mmap; mmap.mmap(-1, 4096, prot=7)", "PermissionError"),
        ("import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)", "OSError"),
        (
            "import os; os.unshare(os.CLONE_NEWUSER)" if hasattr(os, "unshare") else "raise PermissionError",
            "Permission",
        ),
    ],
)
def test_what_it_does_not_allow_is_refused(sandbox, forbidden, fault):
    done = subprocess.run([*sandbox, sys.executable, "-c", forbidden], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert fault in done.stderr


def test_other_system_calls_end_the_process(sandbox):
    swap = "import ctypes; ctypes.CDLL(None).swapoff(b'/nonesuch')"
    assert subprocess.run([*sandbox, sys.executable, "-c", swap], capture_output=True, check=False).returncode < 0
