"""`bankml mcp --http`, with the SDK's client and with any request."""

import json
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.mcp.agents import COMMAND, connected, environment, listening, resident

MB = 1_000_000
JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
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


def test_calls_and_sessions_come_and_go_without_growth(noted: Path) -> None:
    with listening(noted) as (address, process):

        def ask(calls: range) -> int:
            with connected(address) as agent:
                for n in calls:
                    agent.answer("search", query=f"how do I pin package {n}", n=1)
            for _ in range(10):
                with connected(address, "legacy") as agent:
                    agent.answer("status")
            return resident(process)

        before = ask(range(260))  # 256 vectors of queries are remembered
        assert ask(range(260, 460)) - before < 4 * MB
