"""Every tool, by the SDK's client over stdin and stdout, in one store."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mcp.agents import Agent, connected, environment, over_stdio

TOKENS = {"title": "Auth tokens", "content": "Access tokens live for 15 minutes, refresh tokens for 30 days."}
SQLITE = {"title": "SQLite keeps everything", "content": "One file, WAL, no server.", "category": "decision"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a file to cite."""
    made = tmp_path_factory.mktemp("project")
    (made / ".git").mkdir()
    (made / "src").mkdir()
    (made / "src" / "auth.py").write_text("LIFE = 15\n")
    return made


@pytest.fixture(scope="module")
def agent(home: Path, project: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """In a fresh home: the model is here, the store is not."""
    made = tmp_path_factory.mktemp("fresh")
    (made / "models").symlink_to(home / "models")
    with connected(over_stdio(made, "--session", "ours", cwd=project / "src"), name="claude-code") as found:
        yield found


@pytest.fixture(scope="module")
def tokens(agent: Agent) -> dict:
    """The first thing that is remembered."""
    for tool, arguments in (("query", {"query": "a"}), ("status", {}), ("timeline", {"id": "rec_"})):
        assert "there is no memory at" in agent.refusal(tool, **arguments)
    more = {"tags": ["auth"], "paths": ["src/auth.py"], "reasoning": "The audit asks for it.", "confidence": 0.9}
    return agent.answer("remember", **TOKENS, **more, category="constraint")


def test_remember_makes_the_store_and_embeds(agent: Agent, tokens: dict) -> None:
    assert tokens["id"].startswith("rec_")
    assert (tokens["existing"], tokens["passages"], tokens["embedded"], tokens["status"]) == (False, 1, 1, "")
    found = agent.answer("status")
    assert (found["items"], found["session"]) == (1, "ours")


def test_query_answers_with_what_is_asked_for(agent: Agent, tokens: dict) -> None:
    decided = agent.answer("remember", **SQLITE)
    found = agent.answer("query", query="how long is a login valid?", n=1)
    (result,) = found["results"]
    assert result["id"] == tokens["id"]
    assert result["content"] == TOKENS["content"]
    assert result["affectedPaths"] == ["src/auth.py"]
    assert 0 < result["score"] < 1
    assert result["cosine"] > 0.2
    assert "2 of 2 passages embedded" in found["status"]
    only = agent.answer("query", query="storage", category=["decision"], tag=None, explain=True)
    assert [each["id"] for each in only["results"]] == [decided["id"]]
    assert {"relevance", "coverage"} <= only["results"][0]["explained"].keys()
    words = agent.answer("query", query="tokens", mode="words")
    assert words["results"][0]["score"] == "uncalibrated (lexical-only)"


def test_what_a_file_said_when_it_was_remembered_is_reviewed(agent: Agent, tokens: dict, project: Path) -> None:
    def freshness() -> str:
        return agent.answer("query", query=tokens["id"], n=1)["results"][0]["freshness"]

    assert freshness() == "current"
    (project / "src" / "auth.py").write_text("LIFE = 60\n")
    assert freshness() == "needs_review"
    agent.answer("feedback", id=tokens["id"], verdict="confirmed", note="I looked.")
    assert freshness() == "current"


def test_what_is_superseded_is_found_when_it_is_asked_for(agent: Agent, tokens: dict) -> None:
    first = agent.answer("remember", title="Queue", content="Jobs wait in Redis.", category="decision")
    second = agent.answer("remember", title="Queue", content="Jobs wait in SQLite.", supersedes=[first["id"]])
    assert second["superseded"] == [first["id"]]
    active = [each["id"] for each in agent.answer("query", query="queue of jobs")["results"]]
    assert second["id"] in active
    assert first["id"] not in active
    old = agent.answer("query", query="queue of jobs", status=["superseded"])["results"]
    assert [each["id"] for each in old] == [first["id"]]
    assert agent.answer("timeline", id=first["id"])["superseded_by"] == second["id"]


def test_revise_as_of_and_timeline(agent: Agent) -> None:
    record = agent.answer("remember", title="Rollout", content="Ten per cent.", valid_from="2026-01-01")["id"]
    agent.answer("remember", revise=record, content="Everybody.", valid_from="2026-03-01", confidence=0.5)
    told = agent.answer("timeline", id=record)
    assert [each["content"] for each in told["assertions"]] == ["Ten per cent.", "Everybody."]
    provenance = told["assertions"][0]["provenance"]
    assert provenance["by"] == "bankml mcp"
    assert (provenance["client"], provenance["client_version"]) == ("claude-code", "7.1")
    then = agent.answer("query", query="rollout", as_of="2026-02-01")
    assert then["results"][0]["content"] == "Ten per cent."
    assert "they have now" in then["status"]
    assert agent.answer("query", query="rollout", as_of="2025-12-31")["results"] == []


def test_a_context_pack_is_read_as_markdown_within_its_budget(agent: Agent, tokens: dict) -> None:
    found = agent.call("context", query="storage", task="review the login", token_budget=60)
    (text,) = (content.text for content in found.content)
    pack = found.structured_content
    assert text.startswith("## Constraints\n")
    assert TOKENS["content"] in text
    assert len(text) / 4 <= pack["estimatedTokens"] <= 60
    assert pack["excluded"][0]["reason"].startswith("budget: ")
    empty = agent.call("context", query="storage", token_budget=0)
    assert empty.structured_content["sections"] == []
    assert empty.content[0].text.startswith("0 records in 0 of 0 tokens")


def test_a_session_is_seen_by_itself_alone(agent: Agent, tokens: dict, home: Path, project: Path) -> None:
    secret = agent.answer("remember", title="Draft", content="The plan is half done.", namespace="session")["id"]
    assert agent.answer("query", query="plan half done", n=1)["results"][0]["id"] == secret
    path = agent.answer("status")["db"]
    with connected(over_stdio(Path(path).parent, cwd=project)) as other:
        assert secret not in [each["id"] for each in other.answer("query", query="plan half done")["results"]]
        assert other.answer("query", query="the plan", namespace=["session"])["results"] == []


def test_a_linked_repository_answers_too(agent: Agent, tokens: dict, tmp_path: Path) -> None:
    path = Path(agent.answer("status")["db"])
    words = ["Colours", "The website uses dark green.", "--db", str(tmp_path / "website.db"), "--namespace", "global"]
    for line in (["remember", *words], ["workspace", "add", str(tmp_path / "website.db"), "--name", "website"]):
        command = [sys.executable, "-m", "bankml", *line]
        subprocess.run(command, env=os.environ | environment(path.parent), check=True, capture_output=True)
    found = agent.answer("query", query="which colour does the website have?", n=1)["results"][0]
    assert (found["title"], found["repository"]) == ("Colours", "website")
    assert found["score"] == "uncalibrated (layered namespaces)"
    assert "Colours" not in agent.call("context", query="which colour does the website have?").content[0].text
    command = [sys.executable, "-m", "bankml", "workspace", "remove", "website"]
    subprocess.run(command, env=os.environ | environment(path.parent), check=True, capture_output=True)


def test_feedback(agent: Agent, tokens: dict) -> None:
    record = agent.answer("remember", title="Mirror", content="The mirror is in Oslo.")["id"]
    assert agent.answer("feedback", id=record, verdict="wrong")["confidence"] == 0.5
    assert agent.answer("feedback", id=record, verdict="archive", note="Gone.")["status"] == "archived"
    told = agent.answer("timeline", id=record)["feedback"]
    assert [each["verdict"] for each in told] == ["wrong", "archive"]
    assert told[1]["provenance"]["client"] == "claude-code"


def test_the_same_is_remembered_once(agent: Agent, tokens: dict) -> None:
    first, second = (agent.answer("remember", title="Twice", content="Said twice.") for _ in range(2))
    assert (first["id"], second["existing"]) == (second["id"], True)


def test_a_long_record_is_told_as_cut_and_is_whole_in_the_timeline(agent: Agent, tokens: dict) -> None:
    long = " ".join(f"Sentence {n} speaks of harvests." for n in range(300))
    record = agent.answer("remember", title="Harvests", content=long)["id"]
    found = agent.answer("query", query="sentence 299 harvests", n=1)["results"][0]
    assert (found["id"], found["truncated"], len(found["content"]) <= 2000) == (record, True, True)
    assert agent.answer("timeline", id=record, full=True)["assertions"][0]["content"] == long


@pytest.mark.parametrize(
    ("tool", "arguments", "sentence"),
    [
        ("query", {"query": " " * 5000}, "query has 5,000 characters"),
        ("query", {"query": "a", "status": ["gone"]}, "status[0] is 'gone': give one of active, superseded, archived"),
        ("query", {"query": "a", "as_of": "soon"}, "as_of is 'soon'"),
        ("context", {"query": "a", "token_budget": -1}, "token_budget is -1: give a whole number from 0 to 1,000,000"),
        ("timeline", {"id": "rec_none"}, "there is no record whose id begins with 'rec_none'"),
        ("remember", {"title": "a"}, "content is missing"),
        ("remember", {"content": "a"}, "title is missing"),
        ("remember", {"content": " ", "title": "a"}, "the content is ''"),
        ("remember", {"title": "a", "content": "b", "confidence": 2}, "confidence is 2: give a number from 0 to 1"),
        ("remember", {"title": "a", "content": "b", "confidence": "high"}, "confidence is 'high'"),
        ("remember", {"title": "a", "content": "b", "paths": ["../../etc/passwd"]}, "the path '../../etc/passwd'"),
        ("remember", {"title": "a", "content": "b", "supersedes": ["rec_0000000000000000"]}, "there is no record"),
        ("remember", {"title": "a", "content": "b", "valid_from": "never"}, "valid_from is 'never'"),
        ("remember", {"revise": "rec_1", "content": "b", "tags": ["x"]}, "tags cannot be given with revise"),
        ("feedback", {"id": "rec_1", "verdict": "nice"}, "verdict is 'nice': give one of helpful, confirmed, stale,"),
        ("feedback", {"id": "rec_1", "verdict": "stale"}, "there is no record"),
        ("status", {"db": "/etc/passwd"}, "there is no argument 'db'"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(
    agent: Agent, tokens: dict, tool: str, arguments: dict, sentence: str
) -> None:
    before = agent.answer("status")["generation"]
    said = agent.refusal(tool, **arguments)
    assert sentence in said
    assert agent.answer("status")["generation"] == before


def test_tools_answer_as_the_commands_do(agent: Agent, tokens: dict, project: Path) -> None:
    home = Path(agent.answer("status")["db"]).parent

    def command(*words: str) -> dict:
        ours = environment(home)
        done = subprocess.run(
            [sys.executable, "-m", "bankml", *words, "--json"], env=os.environ | ours, cwd=project, capture_output=True
        )
        return json.loads(done.stdout)

    assert command("query", "tokens", "--session", "ours") == agent.answer("query", query="tokens")
    assert command("timeline", tokens["id"]) == agent.answer("timeline", id=tokens["id"])
    asked = {"query": "tokens", "token_budget": 300}
    pack = command("context", "--query", "tokens", "--token-budget", "300", "--session", "ours")
    assert pack == agent.answer("context", **asked)
    told = agent.answer("status")
    assert command("status") == {name: value for name, value in told.items() if name != "session"}
