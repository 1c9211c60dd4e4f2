"""Every curl line of README and pages, read out of them and run with the real curl."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.clients.bits import bits

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/serving.md", "docs/ollama.md")
BLOCK = re.compile(r"^```[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^ {4}(curl .*)$", re.MULTILINE)
# Ours, alone or in Ollama's place, or a Unix socket (which itself has tests in tests/serve).
ADDRESS = re.compile(r"http://(?:127\.0\.0\.1|localhost):(?:18093|11434)\b|--unix-socket \S+ http://localhost\b")
BODY = re.compile(r"-d '([^']*)'")


def lines(page: str) -> list[str]:
    """The commands of a page that begin with curl; one that goes on in the next line is one."""
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = [*BLOCK.findall(text), *INDENTED.findall(text)]
    found = [line.removeprefix("$ ") for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [line for line in found if line.startswith("curl ")]


COMMANDS = [pytest.param(line, id=f"{page}-{number}") for page in PAGES for number, line in enumerate(lines(page))]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_line_works(command, server, bge_m3, encoder):
    if not shutil.which("curl"):
        pytest.skip("curl is not installed: apt-get install curl")
    url, same = (bge_m3.url, bge_m3.encoder) if "bge-m3" in command else (server.url, encoder)
    here, places = ADDRESS.subn(url, command)
    assert places == 1, f"no address of the server's in: {command}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", here.replace("curl ", "curl --fail-with-body --max-time 60 ", 1)],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, f"{here}\n{done.stdout}\n{done.stderr}"
    if sent := BODY.search(command):
        answer, texts = json.loads(done.stdout), json.loads(sent[1])["input"]
        rows = answer.get("embeddings") or [row["embedding"] for row in answer["data"]]
        assert bits(rows) == bits(same.encode([texts] if isinstance(texts, str) else texts))


def test_there_are_lines():
    assert all(lines(page) for page in PAGES)
