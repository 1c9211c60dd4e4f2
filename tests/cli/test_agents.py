"""The commands that agents were promised, one by one, as they were written."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from bankml.cli.app import run
from bankml.memory import instant
from bankml.settings import Settings

Answer = Callable[..., dict]


@pytest.fixture
def answer(stocked_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd) -> Answer:
    """What a command line prints with --json; it must succeed, or fail with `status`."""
    monkeypatch.setenv("BANKML_SKIP_MODEL_DOWNLOAD", "1")
    (tmp_path / "project" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")

    def ask(line: str, status: int = 0) -> dict:
        done = run([*shlex.split(line)[1:], "--json"])
        out, err = capfd.readouterr()
        assert done == status, (line, out, err)
        return json.loads(out)

    return ask


@pytest.fixture
def decided(answer: Answer) -> Answer:
    """Of a store with some records."""
    answer('bankml decide "Auth token design" "Tokens are opaque and live for 15 minutes." --paths src/auth.py')
    answer('bankml decide "SQLite persistence" "Everything is in one SQLite file." --valid-from 2025-06-01')
    answer('bankml remember "No secrets in logs" "Never log a token." --category constraint')
    return answer


def test_query(decided: Answer) -> None:
    found = decided('bankml query "auth token design"')
    assert found["results"][0]["title"] == "Auth token design"
    assert "3 of 3 passages embedded" in found["status"]


def test_reindex_vectors(decided: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANKML_DISABLE_WRITE_EMBEDDING", "1")
    assert decided('bankml decide "Title" "Content"')["embedded"] == 0
    assert "1 passage is found by words alone" in decided("bankml query content")["status"]
    assert decided("bankml reindex --vectors")["chunks"] == 4
    assert "4 of 4 passages embedded" in decided("bankml query content")["status"]


def test_vectors_switched_off(decided: Answer) -> None:
    decided("bankml config set search.vector.enabled false")
    found = decided('bankml query "auth token design"')
    assert found["results"][0]["score"] == "uncalibrated (lexical-only)"
    assert "BM25 (FTS5) alone" in found["status"]


def test_presets(decided: Answer) -> None:
    decided("bankml config")
    refused = decided("bankml config set search.vector.preset granite-97m-multilingual", 1)["error"]
    assert "engine" in refused
    decided("bankml config set search.vector.preset multilingual-e5-small")
    found = decided('bankml query "auth token design"')
    assert found["results"][0]["score"] == "uncalibrated (lexical-only)"  # until the rebuild
    decided("bankml reindex --vectors")
    assert "multilingual-e5-small (meaning, 3 of 3" in decided('bankml query "auth token design"')["status"]


def test_a_model_of_ones_own(decided: Answer) -> None:
    before = decided("bankml status")
    assert decided("bankml config set-model onnx-community/your-model-ONNX", 1)["error"]
    assert decided("bankml status") == before


def test_init_without_a_download(answer: Answer) -> None:
    for model in (Settings.read().home / "models").iterdir():
        model.unlink()
    answer("bankml init")
    assert answer('bankml decide "Title" "Content"')["embedded"] == 0
    assert answer("bankml query content")["results"][0]["title"] == "Title"


def test_decide_without_embedding(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANKML_DISABLE_WRITE_EMBEDDING", "1")
    written = answer('bankml decide "Title" "Content"')
    assert (written["embedded"], "BANKML_DISABLE_WRITE_EMBEDDING" in written["status"]) == (0, True)
    assert answer("bankml query content")["results"][0]["id"] == written["id"]


def test_as_of_and_timeline(decided: Answer) -> None:
    found = decided('bankml query "sqlite persistence" --as-of 2026-01-01T00:00:00Z')
    assert [each["title"] for each in found["results"]] == ["SQLite persistence"]
    assert "only content and confidence are those of then" in found["status"]
    told = decided(f"bankml timeline {found['results'][0]['id']}")
    (said,) = told["assertions"]
    assert (said["valid_from"], said["valid_to"]) == (instant.iso(instant.parse("2025-06-01")), None)


def test_context(decided: Answer) -> None:
    pack = decided(
        'bankml context --query "authentication rollout" --task "Review token migration" --token-budget 1500'
    )
    assert pack["sections"][0]["title"] == "Constraints"
    assert pack["estimatedTokens"] <= 1500
