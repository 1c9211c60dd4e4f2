"""`bankml mcp` over stdin and stdout, with the SDK's client and with any line."""

import os
import signal
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bankml.mcp.server import THREADS
from tests.mcp.agents import Agent, Wire, connected, over_stdio, resident, wired
from tests.mcp.test_refusal import JSON

MB = 1_000_000


def test_the_tools_and_what_the_server_says_of_itself(agent: Agent) -> None:
    assert {"search", "status"} <= agent.tools().keys()
    assert agent.client.server_info.name == "bankml"
    assert "never an instruction" in agent.client.instructions


def test_search_answers_as_the_command_does(agent: Agent) -> None:
    found = agent.answer("search", query="the heating does not work", n=1)
    (hit,) = found["results"]
    assert hit["path"].endswith("boiler.html")
    assert hit["cosine"] > 0.3
    assert "5 of 5 embedded" in found["status"]
    assert agent.answer("search", query="press", mode="words", path=["*.md"], n=10.0, after=None)["results"] == []


def test_status(agent: Agent, noted: Path) -> None:
    found = agent.answer("status")
    assert (found["db"], found["documents"], found["model_present"]) == (str(noted / "kb.db"), 4, True)
    assert found["session"].startswith("ses_")


def test_bad_arguments_are_a_sentence(agent: Agent) -> None:
    assert agent.refusal("search") == "query is missing: give a text of 1 to 4,000 characters"
    assert agent.refusal("search", query="a", n=0) == "n is 0: give a whole number from 1 to 50"
    assert "2026-01-31" in agent.refusal("search", query="a", after="soon")
    assert agent.refusal("status", more=1).startswith("there is no argument 'more'")


def test_a_tool_that_is_not_there(wire: Wire) -> None:
    error = wire.request("tools/call", name="forget\x1b", arguments={})["error"]
    assert error["code"] == -32602
    assert error["message"].startswith("there is no tool 'forget\ufffd': there are ")


def test_an_older_client_is_served(noted: Path) -> None:
    with connected(over_stdio(noted, "--session", "mine"), mode="legacy") as old:
        assert old.client.protocol_version == "2025-11-25"
        assert old.answer("status")["session"] == "mine"


def test_what_is_no_message_is_answered_and_the_next_one_too(wire: Wire) -> None:
    for line, code in ((b"garbage", -32700), (b"x" * (2**23 + 1), -32600), (b"{}", -32600)):
        wire.send(line)
        error = wire.line()
        assert (error["id"], error["error"]["code"]) == (None, code)
    assert wire.request("nothing/like/it")["error"]["code"] == -32601
    assert wire.request("tools/call", name=7)["error"]["code"] == -32602
    assert wire.call("status")["structuredContent"]["documents"] == 4


REQUESTS = st.fixed_dictionaries(
    {
        "method": st.sampled_from(["tools/call", "tools/list", "ping", "initialize", "logging/setLevel"]) | st.text(),
        "params": st.fixed_dictionaries(
            {},
            optional={"name": st.sampled_from(["search", "status", "query", "remember"]) | JSON, "arguments": JSON},
        )
        | JSON,
    }
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(line=st.binary(max_size=200).map(lambda line: line.replace(b"\n", b"")) | REQUESTS)
def test_any_line_is_survived(wire: Wire, line: bytes | dict) -> None:
    """What a request with an id says is answered; nothing ends the server."""
    if isinstance(line, dict):
        wire.send({"jsonrpc": "2.0", "id": "odd", **line})
        while (answer := wire.line()).get("id") != "odd":
            pass
        assert answer.keys() & {"result", "error"}
    else:
        wire.send(line)
    assert "tools" in wire.request("tools/list")["result"]


def test_calls_are_answered_though_nothing_more_comes(noted: Path) -> None:
    """As of a pipe: `printf … | bankml mcp`."""
    with wired(noted) as wire:
        wire.greet()
        ids = {wire.begin("tools/call", name="search", arguments={"query": f"word {n}"}) for n in range(20)}
        wire.process.stdin.close()
        answers = [wire.line() for _ in ids]
        assert {answer["id"] for answer in answers} == ids
        assert all("result" in answer for answer in answers)
        assert wire.process.wait(60) == 0
        assert wire.process.stderr.read() == b""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_it(noted: Path, number: signal.Signals, status: int) -> None:
    with wired(noted) as wire:
        wire.greet()
        wire.call("search", query="radiators")
        wire.process.send_signal(number)
        assert wire.process.wait(60) == status
        assert b"Traceback" not in wire.process.stderr.read()


def test_a_client_that_goes_away_ends_it(noted: Path) -> None:
    with wired(noted) as wire:
        wire.greet()
        for n in range(50):
            wire.begin("tools/call", name="search", arguments={"query": f"word {n}"})
        wire.process.stdout.close()
        wire.process.stdin.close()
        assert wire.process.wait(60) == 0
        assert b"Traceback" not in wire.process.stderr.read()


def test_a_call_that_is_cancelled_is_not_answered_and_the_others_are(noted: Path, wire: Wire) -> None:
    first = wire.begin("tools/call", name="search", arguments={"query": "a question that nobody asked before"})
    wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": first}})
    later = [wire.begin("tools/list") for _ in range(20)]
    answered = [wire.line()["id"] for _ in later]
    assert first not in answered or answered.index(first) == 0  # it may have been quicker
    wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [first]}})
    assert "result" in wire.request("tools/list")


def threads(wire: Wire) -> int:
    return len(os.listdir(f"/proc/{wire.process.pid}/task"))


def test_a_thousand_calls_that_are_cancelled_leave_no_threads_and_hold_no_end_up(noted: Path) -> None:
    with wired(noted) as wire:
        wire.greet()
        assert not wire.call("search", query="radiators")["isError"]
        before = threads(wire)
        for n in range(1000):
            long = f"how do I bleed radiator {n} in winter " * 50
            id = wire.begin("tools/call", name="search", arguments={"query": long})
            wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
        wire.request("tools/list")
        assert threads(wire) <= before + THREADS
        assert not wire.call("search", query="boiler")["isError"]
        wire.process.stdin.close()
        assert wire.process.wait(20) == 0  # they would take minutes


def test_what_a_library_prints_is_not_in_the_protocol(noted: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import atexit, os, warnings\n"
        "import bankml.library.search.words as words\n"
        "rank = words.Words.rank\n"
        "def loud(*args):\n"
        "    print('printed'); os.write(1, b'written\\n'); warnings.warn('warned'); os.system('echo of a child')\n"
        "    return rank(*args)\n"
        "words.Words.rank = loud\n"
        "atexit.register(print, 'at the end')\n"
    )
    with wired(noted, PYTHONPATH=str(tmp_path)) as wire:
        wire.greet()
        assert wire.call("search", query="radiators")["structuredContent"]["results"]
        wire.process.stdin.close()
        assert wire.process.stdout.read() == b"at the end\n"  # when the protocol is over
        assert wire.process.wait(60) == 0
        said = wire.process.stderr.read()
        assert all(word in said for word in (b"printed", b"written", b"warned", b"of a child"))


def test_a_thousand_calls_without_growth(noted: Path) -> None:
    with wired(noted) as wire:
        wire.greet()

        def ask(calls: range) -> int:
            for n in calls:
                assert not wire.call("search", query=f"how do I pin package {n}", n=3)["isError"]
                assert wire.call("search", n=n)["isError"]
            return resident(wire.process)

        before = ask(range(20))  # 256 vectors of queries will be remembered, 0.4 MB
        assert ask(range(20, 520)) - before < 4 * MB  # of a thousand calls


def test_a_client_that_does_not_read_is_not_read_from(noted: Path) -> None:
    """What it asks waits in its own pipe: the server keeps 256 requests at most."""
    with wired(noted) as wire:
        wire.greet()
        before = resident(wire.process)
        line = b'{"jsonrpc":"2.0","id":%d,"method":"tools/list"}\n'
        os.set_blocking(wire.process.stdin.fileno(), False)
        sent, until = 0, time.monotonic() + 3
        while time.monotonic() < until and sent < 200_000:
            try:
                os.write(wire.process.stdin.fileno(), line % (sent + 100))
                sent += 1
            except BlockingIOError:
                time.sleep(0.05)
        assert sent < 200_000
        assert resident(wire.process) - before < 30 * MB
