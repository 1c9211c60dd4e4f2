"""`bankml mcp --http`, with the SDK's client and with any request."""

import json
import signal
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from bankml.mcp.http import MOST_SESSIONS
from tests.mcp.agents import COMMAND, connected, environment, listening, resident

MB = 1_000_000
JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_sdks_client(address: str, mode: str) -> None:
    with connected(address, mode) as agent:
        assert {"search", "status"} <= agent.tools().keys()
        assert agent.answer("search", query="the heating", n=1)["results"][0]["path"].endswith("boiler.html")
        assert agent.refusal("search", query="a", n=51) == "n is 51: give a whole number from 1 to 50"


def test_clients_at_once(address: str) -> None:
    def ask(number: int) -> list[str]:
        with connected(address, "legacy" if number % 2 else "auto") as agent:
            return [
                agent.answer("search", query=f"radiators {n} {number}", n=1)["results"][0]["path"] for n in range(10)
            ]

    with ThreadPoolExecutor(4) as threads:
        found = [path for paths in threads.map(ask, range(4)) for path in paths]
    assert len(found) == 40
    assert all(path.endswith("boiler.html") for path in found)


def test_only_programs_of_this_machine_are_answered(address: str) -> None:
    for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        answer = httpx.post(address, json=LIST, headers=JSON | headers)
        assert answer.status_code == 403, headers
        assert answer.json()["error"]
    answer = httpx.post(address, json=LIST, headers=JSON | {"Origin": address.removesuffix("/mcp")})
    assert answer.status_code != 403
    assert httpx.post(address, content=json.dumps(LIST), headers={"Content-Type": "text/plain"}).status_code == 400


def test_what_cannot_be_read(address: str) -> None:
    assert httpx.get(address).status_code == 405  # nothing comes unasked
    assert httpx.get(address.removesuffix("/mcp")).status_code == 404
    assert httpx.post(address, content=b"garbage", headers=JSON).status_code == 400
    assert httpx.post(address, content=b"[" * 100_000, headers=JSON).status_code == 400
    assert httpx.post(address, content=b"x" * (2**23 + 1), headers=JSON).status_code == 413
    assert httpx.post(address, json=LIST, headers=JSON | {"Mcp-Session-Id": "nobody's"}).status_code == 404


def test_a_key_is_asked_for_where_there_is_one(noted: Path) -> None:
    with listening(noted, BANKML_API_KEY="sesame") as (address, process):
        assert httpx.post(address, json=LIST, headers=JSON).status_code == 401
        assert httpx.post(address, json=LIST, headers=JSON | {"Authorization": "Bearer no"}).status_code == 401
        answer = httpx.post(address, json=LIST, headers=JSON | {"Authorization": "Bearer sesame"})
        assert answer.status_code != 401
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def test_other_machines_are_let_in_with_a_key_alone(noted: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "--http", "0.0.0.0:0"], env=environment(noted), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 2
    assert "there is no key" in done.stderr
    assert "BANKML_API_KEY" in done.stderr


@pytest.mark.parametrize("value", ["", "port", "-1", "65536", ":1", "host:", "127.0.0.1:99999"])
def test_what_is_no_address(noted: Path, value: str) -> None:
    from bankml.cli.app import run

    assert run(["mcp", "--http", value]) == 2


@pytest.mark.parametrize("modern", [False, True])
def test_what_clients_asked_that_are_gone_is_not_worked_through(address: str, modern: bool) -> None:
    def question(n: int) -> dict:
        return {"name": "search", "arguments": {"query": f"{modern} {n} " + "how do I bleed a radiator " * 140}}

    with connected(address) as agent:
        began = time.monotonic()
        for n in range(5):
            agent.answer("search", **question(n)["arguments"])
        each = (time.monotonic() - began) / 5
        session = greet(address)
        meta = {"_meta": MODERN} if modern else {}
        head = {"Mcp-Method": "tools/call", "Mcp-Name": "search", "Mcp-Protocol-Version": "2026-07-28"}
        for n in range(10, 110):
            call = LIST | {"id": n, "method": "tools/call", "params": question(n) | meta}
            hang_up(address, call, head if modern else {"Mcp-Session-Id": session})
        began = time.monotonic()
        for n in range(5):
            agent.answer("search", query=f"who is next {modern} {n}")
        assert time.monotonic() - began < 30 * each  # where all of them are answered first: 60 and more


def test_clients_that_leave_without_a_word_lock_nobody_out(noted: Path) -> None:
    with listening(noted) as (address, _):
        first, *others = (greet(address) for _ in range(MOST_SESSIONS))
        assert ask(address, first) == 200
        with connected(address, "legacy") as agent, connected(address, "legacy") as another:
            assert agent.answer("status")["session"] != another.answer("status")["session"]
        assert [ask(address, each) for each in (first, *others[:3])] == [200, 404, 404, 200]
        assert httpx.delete(address, headers=JSON | {"Mcp-Session-Id": first}).status_code == 200
        assert ask(address, first) == 404


def test_a_session_over_http_is_of_one_client(own: Path) -> None:
    draft = {"title": "Draft", "content": "The plan is half done.", "namespace": "session"}
    with (
        listening(own) as (address, _),
        connected(address, "legacy") as one,
        connected(address, "legacy") as other,
        connected(address) as modern,
    ):
        secret = one.answer("remember", **draft)["id"]
        assert one.answer("query", query="half done", n=1)["results"][0]["id"] == secret
        assert one.answer("status")["session"].startswith("ses_")
        for each in (other, modern):
            assert each.answer("query", query="half done")["results"] == []
        assert other.answer("query", query="half done", namespace=["session"])["results"] == []
        assert "no session is named" in modern.refusal("query", query="half done", namespace=["session"])
        assert "start `bankml mcp` with --session" in modern.refusal("remember", **draft)
        assert modern.answer("status")["session"] == ""


def test_a_session_that_is_named_is_of_all_clients(own: Path) -> None:
    with (
        listening(own, "--session", "ours") as (address, _),
        connected(address, "legacy") as one,
        connected(address) as modern,
    ):
        secret = modern.answer("remember", title="Draft", content="Half done.", namespace="session")["id"]
        assert one.answer("query", query="half done", n=1)["results"][0]["id"] == secret


def test_calls_and_sessions_come_and_go_without_growth(noted: Path) -> None:
    with listening(noted) as (address, process):

        def work(calls: range) -> int:
            with connected(address) as agent:
                for n in calls:
                    agent.answer("search", query=f"how do I pin package {n}", n=1)
            for _ in calls[::10]:
                with connected(address, "legacy") as agent:
                    agent.answer("status")
            return resident(process)

        before = work(range(30))
        assert work(range(30, 130)) - before < 4 * MB


HTTP = httpx.Client()  # one, for making its certificates' context takes 30 ms


def greet(address: str) -> str:
    """A session, of a client that says no more."""
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
    answer = HTTP.post(address, json=LIST | {"method": "initialize", "params": client}, headers=JSON)
    session = answer.headers["Mcp-Session-Id"]
    HTTP.post(
        address,
        json={"jsonrpc": "2.0", "method": "notifications/initialized"},
        headers=JSON | {"Mcp-Session-Id": session},
    )
    return session


def ask(address: str, session: str) -> int:
    """The status of an answer."""
    return HTTP.post(address, json=LIST, headers=JSON | {"Mcp-Session-Id": session}).status_code


def hang_up(address: str, message: dict, headers: dict[str, str]) -> None:
    """Asks, and is gone."""
    where = httpx.URL(address)
    body = json.dumps(message).encode()
    head = {**JSON, "Host": f"{where.host}:{where.port}", **headers, "Content-Length": len(body)}
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    with socket.create_connection((where.host, where.port)) as client:
        client.sendall(f"POST {where.path} HTTP/1.1\r\n{lines}\r\n".encode() + body)
