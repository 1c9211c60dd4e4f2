"""docs/agents.md: every command of it in its order, every snippet of a client, every tool and field that it names."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import tomllib
from pathlib import Path

import pytest

from bankml.cli.app import run
from bankml.mcp.tools import TOOLS
from bankml.memory.recall.compact import compact
from bankml.memory.recall.recalled import Memory
from bankml.store import Record
from bankml.store.record import Cited
from tests.mcp.agents import connected, environment

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "agents.md").read_text()
COMMANDS = re.findall(r"^\$ (.*)\n((?:(?!\$ |```).+\n)*)", PAGE, re.MULTILINE)
OTHERS = ("cd ~/shop", "pip install '.[mcp]'", "claude mcp add ")  # what the page asks for that is not ours to run
ID = re.compile(r"rec_[0-9a-f]{16}")


@pytest.fixture
def home(stocked_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of a user who has the page's project and is in it; `bankml` and `python` are these ones."""
    home, programs = tmp_path / "me", tmp_path / "bin"
    (home / "shop" / "src").mkdir(parents=True)
    (home / "shop" / ".git").mkdir()
    (home / "shop" / "src" / "auth.py").write_text("LIFE = 15\n")
    shutil.copytree(ROOT / "examples", home / "shop" / "examples")
    programs.mkdir()
    for name in ("bankml", "python"):
        (programs / name).symlink_to(Path(sys.executable).parent / name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("BANKML_SKIP_MODEL_DOWNLOAD", "1")
    monkeypatch.chdir(home / "shop")
    return home


def test_every_command_in_its_order(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    ids: dict[str, str] = {}  # of the page, and those that were given here
    assert len(COMMANDS) > 20
    for command, shown in COMMANDS:
        if command.startswith(OTHERS):
            continue
        line = _here(command, ids)
        if "--http" in line:
            serve(line.replace("18095", "0"))
            continue
        first, *words = shlex.split(line)
        words = [os.path.expanduser(word) for word in words]
        status = run(words) if first == "bankml" else subprocess.run(line, shell=True, timeout=120).returncode
        out, err = capfd.readouterr()
        assert status == 0, (command, out, err)
        ids |= zip(ID.findall(shown), ID.findall(out), strict=False)
        if shown:
            assert plain(out).startswith(plain(_here(shown, ids))), command


def _here(text: str, ids: dict[str, str]) -> str:
    return ID.sub(lambda found: ids[found[0]], text)


def plain(text: str) -> str:
    """Without scores, and without last fields that are empty."""
    return re.sub(r"\t\d\.\d+\t", "\t…\t", re.sub(r"\t$", "", text, flags=re.MULTILINE))


def serve(line: str) -> None:
    with subprocess.Popen(shlex.split(line), stdout=subprocess.PIPE, text=True) as process:
        killer = threading.Timer(120, process.kill)
        killer.start()
        assert process.stdout.readline().startswith("bankml: MCP at http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0
        killer.cancel()


def test_what_clients_are_configured_with(home: Path) -> None:
    snippets = [json.loads(code) for code in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
    snippets += [tomllib.loads(code) for code in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)]
    servers = [next(iter(snippet.values()))["bankml"] for snippet in snippets]
    assert len(servers) == 3
    assert {key for snippet in snippets for key in snippet} == {"mcpServers", "servers", "mcp_servers"}
    for server in servers:
        assert (server["command"], server["args"]) == ("/path/to/bankml/.venv/bin/bankml", ["mcp"])
        assert server.get("type", "stdio") == "stdio"


def test_the_command_of_the_snippets_is_a_server(home: Path) -> None:
    from mcp import StdioServerParameters

    own = environment(Path(os.environ["BANKML_HOME"]))
    with connected(StdioServerParameters(command="bankml", args=["mcp"], env=own | dict(os.environ))) as agent:
        assert agent.tools().keys() == TOOLS.keys()


def test_the_example_is_short() -> None:
    assert len((ROOT / "examples" / "remembering_agent.py").read_text().splitlines()) < 30


def test_the_tools_that_it_names() -> None:
    assert set(column("tool")) == TOOLS.keys()


def test_the_fields_that_it_names() -> None:
    record = Record("rec_1", "t", "c" * 3000, 0, 0, cited=(Cited(b"a"),))
    memory = Memory(record, "current", "", 0.5, 0.5, False, 0.5, 0.5, 1, 1, "")
    shown = compact(memory, b"", frozenset()) | compact(memory, b"/elsewhere", frozenset())
    named = re.findall(r"`(\w+)`", PAGE.partition("| field | is |")[2].partition("\n\n")[0])
    assert {name for name in shown if name not in named} <= {"category", "passage"}


def column(heading: str) -> list[str]:
    """What the first column of the table below a heading names."""
    table = PAGE.partition(f"\n| {heading} | ")[2].partition("\n\n")[0]
    return re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)


def test_every_option_that_it_names(capfd: pytest.CaptureFixture[str]) -> None:
    for name, rest in re.findall(
        r"bankml (mcp|query|context|timeline|remember|decide|feedback|config set)\b(.*)", PAGE
    ):
        options = set(re.findall(r"(?<=\s)--[\w-]+", rest.partition("`")[0]))
        run([*name.split(), "--help"])
        helped = capfd.readouterr().out
        assert {option for option in options if option not in helped} == set(), name
