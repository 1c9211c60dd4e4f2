"""A local Ollama as an embedder: what it is asked, and that nothing it answers is believed unseen."""

import asyncio
import gzip
import hashlib
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import numpy as np
import pytest

from bankml import Encoder
from bankml.available import Available
from bankml.embedders import choose
from bankml.embedders import exchange as exchanges
from bankml.embedders.identity import Identity
from bankml.embedders.ollama import OllamaEmbedder, of_store
from bankml.errors import BusyError, CancelledError, InputError, ModelWarning, NotFiniteError, UnavailableError
from bankml.models import ollama_store
from bankml.models.prefixes import Override
from bankml.settings import Settings
from tests.embedders.conftest import foreign
from tests.embedders.scripted import Scripted, send, vector
from tests.ollama_store import Store

PLENTY = Available(1 << 40, "a test")


def cloud(name: str = "cloud", left: Available = PLENTY) -> OllamaEmbedder:
    settings = Settings.read()
    model = ollama_store.find(name, settings)
    assert model
    return OllamaEmbedder(str(model.name), Identity.of_ollama(model), model.digest, settings, lambda: left)


def unit(text: str, dims: int = 64) -> np.ndarray:
    row = np.array(vector(text, dims))
    return row / np.linalg.norm(row)


def test_what_it_is_asked(ollama: Scripted, store: Path) -> None:
    ours = choose(name="cloud")
    assert isinstance(ours, OllamaEmbedder)
    found = ours.embed(["sky", "", "\ud800"])
    assert ollama.asked("/api/embed") == [
        {"model": "cloud:latest", "input": ["sky", "", "\ufffd"], "keep_alive": "60s", "truncate": True}
    ]
    assert found.dtype == np.float32
    assert found.flags.c_contiguous
    assert np.abs(found - [unit("sky"), unit(""), unit("\ufffd")]).max() < 1e-6
    assert (ours.provider, ours.model, ours.dims, ours.engine) == ("ollama", "cloud", 64, "ollama 0.13.3")
    assert (store / "blobs" / f"sha256-{ours.digest}").is_file()
    assert (ours.licence.id, ours.licence.open) == ("MIT", True)
    assert ours.embed([]).shape == (0, 64)


@pytest.mark.parametrize(("value", "sent"), [("5m", "300s"), ("1500ms", "1500000000ns"), ("-1", "-1s"), ("0", "0s")])
def test_keep_alive_is_passed_on(ollama: Scripted, monkeypatch: pytest.MonkeyPatch, value: str, sent: str) -> None:
    monkeypatch.setenv("BANKML_EMBED_KEEP_ALIVE", value)
    cloud().embed(["sky"])
    assert ollama.asked("/api/embed")[0]["keep_alive"] == sent


BAD = {
    "too few": ({"embeddings": [[1.0] * 64]}, "1 vectors for 2 texts"),
    "too many": ({"embeddings": [[1.0] * 64] * 3}, "3 vectors for 2 texts"),
    "another width": ({"embeddings": [[1.0] * 63] * 2}, "63 dimensions, not 64"),
    "two widths": ({"embeddings": [[1.0] * 64, [1.0]]}, "1 dimensions, not 64"),
    "none": ({"embeddings": []}, "0 vectors for 2 texts"),
    "no field": ({"embedding": [1.0] * 64}, "no list of vectors"),
    "null": ({"embeddings": None}, "no list of vectors"),
    "words": ({"embeddings": [["a"] * 64] * 2}, "no list of vectors"),
    "deep": (b"[" * 100_000, "no list of vectors"),
    "html": ((200, b"<html>welcome</html>"), "no list of vectors"),
    "bytes": ((200, bytes(range(256))), "no list of vectors"),
    "nothing": ((200, b""), "no list of vectors"),
    "an error": ((500, {"error": "llama runner process has terminated"}), r"refused \(llama runner process"),
    "an error of a proxy": ((502, b"<html>Bad Gateway</html>"), "status 502 and '<html>Bad"),
    "an old Ollama": ((404, b"404 page not found"), r"needs Ollama 0\.3\.4"),
    "not pulled": ((404, {"error": "model 'cloud' not found"}), r"not found\): run `ollama pull cloud:latest`"),
    "control characters": ((500, {"error": "\x1b[31m"}), r"refused \(\ufffd\[31m"),
}


@pytest.mark.parametrize("answer", BAD)
def test_what_is_no_answer(ollama: Scripted, answer: str) -> None:
    said, sentence = BAD[answer]
    ollama.answers["/api/embed"] = (200, said) if isinstance(said, bytes) else said
    ours = cloud()
    with pytest.raises(UnavailableError, match=sentence):
        ours.embed(["sky", "sea"])
    ollama.answers.pop("/api/embed")
    assert ours.embed(["sky"]).shape == (1, 64)


def test_a_number_that_is_none(ollama: Scripted) -> None:
    for row in ("1e999", "NaN", "1e39"):
        ollama.answers["/api/embed"] = (200, b'{"embeddings":[[' + b",".join([row.encode()] * 64) + b"]]}")
        if row == "1e39":  # finite in f64, and so is what it is divided by
            assert np.isfinite(cloud().embed(["sky"])).all()
            continue
        with pytest.raises((UnavailableError, NotFiniteError)):
            cloud().embed(["sky"])


def test_a_vector_without_a_direction_is_named(ollama: Scripted) -> None:
    ollama.answers["/api/embed"] = {"embeddings": [[1.0] * 64, [0.0] * 64, [1.0] * 64, [0.0] * 64]}
    with pytest.raises(NotFiniteError) as error:
        cloud().embed(["sky", "sea", "sun", "moon"])
    assert (error.value.index, error.value.indexes) == (1, (1, 3))


def test_the_text_of_several_that_has_no_vector_is_found(ollama: Scripted) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        texts = ollama.seen[-1][1]["input"]
        if any("sea" in text for text in texts):
            return send(handler, 400, b'{"error":"embedding contains NaN or Inf values"}')
        send(handler, 200, ('{"embeddings":[' + ",".join([str([1.0] * 64)] * len(texts)) + "]}").encode())

    ollama.answers["/api/embed"] = answer
    with pytest.raises(NotFiniteError) as error:
        cloud().embed(["sky", "sea", "sun", "deep sea"])
    assert (error.value.index, error.value.indexes) == (1, (1, 3))
    assert len(ollama.asked("/api/embed")) == 5  # together, then each alone
    assert cloud().embed(["sky", "sun"]).shape == (2, 64)


def test_one_that_hangs_is_given_up(ollama: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    ollama.answers["/api/embed"] = lambda handler: ollama.over.wait(60)
    end = time.monotonic() + 0.3
    with pytest.raises(CancelledError):
        cloud().embed(["sky"], cancelled=lambda: time.monotonic() > end)
    assert time.monotonic() < end + 10
    monkeypatch.setattr("bankml.embedders.api.START", 0.2)
    monkeypatch.setattr("bankml.embedders.api.TEXT", 0.1)
    with pytest.raises(UnavailableError, match=r"did not answer /api/embed within 0\.3 s"):
        cloud().embed(["sky"])


def test_one_that_drips_for_ever_is_given_up(ollama: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not ollama.over.wait(0.01):
            handler.wfile.write(b" ")

    ollama.answers["/api/embed"] = drip
    monkeypatch.setattr("bankml.embedders.api.START", 0.2)
    monkeypatch.setattr("bankml.embedders.api.TEXT", 0.1)
    with pytest.raises(UnavailableError, match="within"):
        cloud().embed(["sky"])


def test_a_body_without_end_is_not_read_to_its_end(ollama: Scripted) -> None:
    sent = []

    def pour(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not ollama.over.is_set():
            handler.wfile.write(bytes(1 << 20))
            sent.append(1)

    ollama.answers["/api/embed"] = pour
    with pytest.raises(UnavailableError, match="more than"):
        cloud().embed(["sky"])
    assert len(sent) < 100


def test_a_body_that_is_cut(ollama: Scripted) -> None:
    def cut(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b'{"embeddings":[[1')

    ollama.answers["/api/embed"] = cut
    with pytest.raises(UnavailableError, match="broke off"):
        cloud().embed(["sky"])


def test_what_it_packs_is_not_unpacked(ollama: Scripted) -> None:
    bomb = gzip.compress(bytes(20 << 20))
    ollama.answers["/api/embed"] = lambda handler: send(handler, 200, bomb, **{"Content-Encoding": "gzip"})
    with pytest.raises(UnavailableError, match="no list of vectors"):
        cloud().embed(["sky"])


def test_nobody_is_led_elsewhere(ollama: Scripted) -> None:
    ollama.answers["/api/embed"] = lambda handler: send(handler, 307, b"", Location="/api/other")
    with pytest.raises(UnavailableError, match="status 307"):
        cloud().embed(["sky"])
    assert not ollama.asked("/api/other")


def test_proxies_of_the_environment_are_not_asked(ollama: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert cloud().embed(["sky"]).shape == (1, 64)


def test_nobody_there(ollama: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANKML_OLLAMA", "http://127.0.0.1:9")
    ours = cloud()
    with pytest.raises(UnavailableError, match=r"no Ollama answers at http://127\.0\.0\.1:9 .*`ollama serve`"):
        ours.embed(["sky"])
    found = ours.status()
    assert not found["ready"]
    assert "no Ollama answers" in found["why"]
    assert not ours.loaded


def test_a_network_that_swallows_packets(ollama: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    """A listener whose queue is full lets nobody in: the connection is given up."""
    monkeypatch.setattr(exchanges, "CONNECT", 0.2)
    with socket.create_server(("127.0.0.1", 0), backlog=0) as deaf:
        clients = [socket.socket() for _ in range(4)]
        for client in clients:
            client.setblocking(False)
            client.connect_ex(deaf.getsockname())
        monkeypatch.setenv("BANKML_OLLAMA", f"127.0.0.1:{deaf.getsockname()[1]}")
        with pytest.raises(UnavailableError, match="no Ollama answers"):
            cloud().embed(["sky"])
        for client in clients:
            client.close()


@pytest.mark.parametrize("version", ["0.13.3-rc1", "", "\x1b", 7, None, ["a"] * 1000])
def test_any_version_will_do(ollama: Scripted, version: object) -> None:
    ollama.answers["/api/version"] = {"version": version}
    ours = cloud()
    assert ours.embed(["sky"]).shape == (1, 64)
    assert len(ours.engine) < 50
    assert ours.engine.isprintable()


def test_there_must_be_memory_unless_it_is_loaded(ollama: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    little = Available(1_299_999_999, "a test")
    ours = cloud(left=little)
    with pytest.raises(UnavailableError, match=r"requires more system memory \(1\.30 GB\)"):
        ours.embed(["sky"])
    assert not ollama.asked("/api/embed")
    assert not ours.status()["ready"]
    monkeypatch.setenv("BANKML_EMBED_NEED_GB", "1.2")
    assert cloud(left=little).status()["ready"]
    monkeypatch.delenv("BANKML_EMBED_NEED_GB")
    ollama.answers["/api/ps"] = {"models": [{"name": "Cloud:latest", "digest": ours._manifest}]}
    assert ours.loaded
    assert ours.status()["ready"]
    assert ours.embed(["sky"]).shape == (1, 64)


@pytest.mark.parametrize("listing", ["/api/ps", "/api/tags"])
def test_other_weights_of_the_name_are_not_recorded_as_these(ollama: Scripted, listing: str) -> None:
    ollama.answers[listing] = {"models": [5, {"name": "cloud:latest", "digest": "f" * 64}]}
    with pytest.raises(UnavailableError, match="another cloud:latest"):
        cloud().embed(["sky"])
    assert not ollama.asked("/api/embed")


@pytest.mark.parametrize("listing", [(200, b"<html>"), (500, b""), {"models": None}, {"models": [{}, {"name": 5}]}])
def test_listings_that_are_none_stop_nothing(ollama: Scripted, listing: object) -> None:
    ollama.answers |= dict.fromkeys(("/api/ps", "/api/tags", "/api/version"), listing)
    assert cloud().embed(["sky"]).shape == (1, 64)


def test_bge_m3_has_1024(ollama: Scripted) -> None:
    ours = choose()
    assert isinstance(ours, OllamaEmbedder)
    assert (ours.model, ours.dims) == ("bge-m3", 1024)
    with pytest.raises(UnavailableError, match="64 dimensions, not 1024"):
        cloud("bge-m3").embed(["sky"])


def test_bge_m3_has_1024_whatever_its_file_says(
    ollama: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "store")
    store.add("registry.ollama.ai/library/bge-m3/latest", foreign(tmp_path / "bge.gguf", 64))
    monkeypatch.setenv("OLLAMA_MODELS", str(store.root))
    with pytest.raises(UnavailableError, match="64 dimensions, not 1024"):
        cloud("bge-m3").embed(["sky"])


def test_a_file_that_does_not_say_how_wide_it_is(ollama: Scripted) -> None:
    assert cloud("unsaid").status()["dims"] is None
    assert cloud("unsaid").dims == 64
    ours = cloud("unsaid")
    ours.embed(["sky"])
    ollama.dims = 63
    with pytest.raises(UnavailableError, match="63 dimensions, not 64"):
        ours.embed(["sky"])


def test_one_call_at_a_time(ollama: Scripted) -> None:
    go = threading.Event()

    def slowly(handler: BaseHTTPRequestHandler) -> None:
        go.wait(30)
        send(handler, 200, ('{"embeddings":[' + str([1.0] * 64) + "]}").encode())

    ollama.answers["/api/embed"] = slowly
    ours = cloud()
    thread = threading.Thread(target=ours.embed, args=(["sky"],))
    thread.start()
    while not ollama.asked("/api/embed"):
        time.sleep(0.005)
    for query in (True, False):
        with pytest.raises(BusyError):
            ours.embed(["sea"], query=query, block=False)
    go.set()
    assert ours.embed(["sea"]).shape == (1, 64)
    thread.join()


def test_it_may_be_called_where_a_loop_runs(ollama: Scripted) -> None:
    async def scene() -> tuple[int, int]:
        return cloud().embed(["sky"]).shape

    assert asyncio.run(scene()) == (1, 64)
    ollama.answers["/api/embed"] = lambda handler: ollama.over.wait(60)
    end = time.monotonic() + 0.2

    async def given_up() -> None:
        with pytest.raises(CancelledError):
            cloud().embed(["sky"], cancelled=lambda: time.monotonic() > end)

    asyncio.run(given_up())


@pytest.mark.filterwarnings("ignore:.*not on this machine")
@pytest.mark.parametrize("address", ["http://xn--a:1", "http://\u2603:1", "https://127.0.0.1:9", "[::1]:9"])
def test_addresses_that_lead_nowhere(ollama: Scripted, monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("BANKML_OLLAMA", address)
    with pytest.raises(UnavailableError, match=r"no Ollama answers|broke off"):
        cloud().embed(["sky"])


def test_what_is_no_text(ollama: Scripted) -> None:
    with pytest.raises(InputError, match="text 1"):
        cloud().embed(["a", None])
    assert not ollama.seen


def test_an_ollama_elsewhere_is_told_of(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_MODELS", str(store))
    monkeypatch.setenv("BANKML_OLLAMA", "http://192.0.2.1:11434")
    monkeypatch.setattr(exchanges, "CONNECT", 0.05)
    with pytest.warns(ModelWarning, match="not on this machine: what is embedded is sent there"):
        found = cloud().status()
    assert "not on this machine: what is embedded is sent there" in found["notes"][0]


@pytest.mark.filterwarnings("ignore:.*not on this machine")
def test_the_memory_of_another_machine_is_not_known(ollama: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not cloud(left=Available(0, "a test")).status()["ready"]
    monkeypatch.setattr("bankml.embedders.ollama.is_loopback", lambda url: False)
    assert cloud(left=Available(0, "a test")).status()["ready"]


def test_a_store_that_cannot_be_read_is_told_by_ollama(
    ollama: Scripted, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path / "none"))
    monkeypatch.setenv("BANKML_EMBED_PROVIDER", "ollama")
    with pytest.raises(UnavailableError, match="bge-m3:latest is in no store of Ollama that can be read here"):
        choose()
    digest = hashlib.sha256(b"weights").hexdigest()
    ollama.answers["/api/show"] = {
        "modelfile": f"# FROM cloud:latest\nFROM /usr/share/ollama/.ollama/models/blobs/sha256-{digest}\nTEMPLATE x",
        "license": "MIT",
        "model_info": {"general.architecture": "nomic", "nomic.embedding_length": 64},
    }
    ollama.answers["/api/tags"] = {"models": [{"name": "cloud:latest", "size": 1000, "digest": "e" * 64}]}
    ours = choose(name="cloud")
    assert (ours.digest, ours.dims, ours.licence.id) == (digest, 64, "MIT")
    assert ours.status()["bytes"] == 1000
    assert ollama.asked("/api/show")[-1] == {"model": "cloud:latest"}
    assert ours.embed(["sky"]).shape == (1, 64)
    assert choose(name="cloud", prefixes=Override(query="find: ")).query_prefix == "find: "


def test_weights_that_are_pulled_anew_are_noticed_where_no_store_can_be_read(
    ollama: Scripted, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path / "none"))
    monkeypatch.setenv("BANKML_EMBED_PROVIDER", "ollama")

    def pull(digest: str, listing: str = "/api/tags") -> None:
        ollama.answers[listing] = {"models": [{"name": "cloud:latest", "size": 1000, "digest": digest}]}

    def show(handler: BaseHTTPRequestHandler) -> None:
        send(handler, 200, b'{"modelfile": "FROM /blobs/sha256-%s"}' % (b"a" * 64))
        pull("f" * 64)  # while it is told of

    pull("e" * 64)
    ollama.answers["/api/show"] = {"modelfile": f"FROM /blobs/sha256-{'a' * 64}"}
    ours = choose(name="cloud")
    assert ours.embed(["sky"]).shape == (1, 64)
    for listing in ("/api/tags", "/api/ps"):
        pull("f" * 64, listing)
        with pytest.raises(UnavailableError, match="has another cloud:latest"):
            ours.embed(["sky"])
        assert len(ollama.asked("/api/embed")) == 1
        ollama.answers.pop(listing)
    pull("e" * 64)
    ollama.answers["/api/show"] = show
    with pytest.raises(UnavailableError, match="has another cloud:latest"):
        choose(name="cloud").embed(["sky"])


@pytest.mark.parametrize(
    "shown", [{}, {"modelfile": "FROM cloud"}, {"modelfile": 5, "model_info": []}, {"error": "no"}]
)
def test_weights_without_a_digest_are_refused(ollama: Scripted, shown: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANKML_EMBED_PROVIDER", "ollama")
    ollama.answers["/api/show"] = shown
    with pytest.raises(UnavailableError, match="does not tell its weights"):
        choose(name="rain")


def test_bankmls_own_server_is_one(serving, store: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It speaks Ollama's API: the good path, whole, and the vectors are the engine's."""
    monkeypatch.setenv("OLLAMA_MODELS", str(store))
    (tmp_path / "home").mkdir()
    with serving(tmp_path / "home", "--model", "sky", OLLAMA_MODELS=str(store)) as server:
        monkeypatch.setenv("BANKML_OLLAMA", server.url)
        model = ollama_store.find("sky", Settings.read())
        ours = of_store(model, Settings.read())
        found = ours.embed(["sky", "the sea"])
        with Encoder(model.gguf) as encoder:
            assert np.abs(found - encoder.encode(["sky", "the sea"])).max() < 1e-6
            assert ours.digest == encoder.digest
        status = ours.status()
        assert (status["ready"], status["loaded"], status["why"]) == (True, True, "")
        assert ours.engine.startswith("ollama ")
