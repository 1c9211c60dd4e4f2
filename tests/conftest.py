"""Real models, downloaded once and kept between runs; everything else that a test touches lies in its own folder."""

import gc
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import httpx
import hypothesis
import numpy as np
import pytest
from gguf import GGUFReader

from bankml import Encoder, models
from bankml.models.presets import ALL_MINILM_L6_V2, MULTILINGUAL_E5_SMALL
from bankml.settings import Settings
from oracle import folders, seeded
from oracle.texts import HARD
from tests import hub as stub
from tests import hub_models
from tests import postgres as postgresql
from tests.serving import Server, running

REAL_HOME = Settings.read().home  # before any test changes the environment
os.environ["HF_TOKEN_PATH"] = os.devnull  # read when huggingface-hub is imported: no test sends the user's token
# A shell's background job starts with Ctrl-C ignored, and so would all that the tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)
# How long one example takes tells how busy the machine is; what must end soon has a test that says so.
hypothesis.settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("any machine")
VARIABLES = (
    "HF_ENDPOINT",
    "HF_TOKEN",
    "HUGGING_FACE_HUB_TOKEN",
    "HF_HUB_OFFLINE",
    "BANKML_HOME",
    "OLLAMA_MODELS",
    "MINDX_EMBED_MODEL",
    "RAGE_PATH",
)


@pytest.fixture(scope="module", autouse=True)
def lean() -> None:
    """What earlier modules left no collection looks at: after 6,000 tests one took half a second, in whatever ran."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def models_home() -> Path:
    """BANKML_HOME as the tests were started, else the user's: real models stay there from run to run."""
    return REAL_HOME


@pytest.fixture(scope="session")
def minilm(models_home: Path) -> Path:
    """all-MiniLM-L6-v2 as GGUF: WordPiece, F16, 384 dimensions, mean pooling."""
    return _pulled(models_home, ALL_MINILM_L6_V2.name)


@pytest.fixture(scope="session")
def e5(models_home: Path) -> Path:
    """multilingual-e5-small as GGUF: Unigram, Q4_0, 384 dimensions, mean pooling."""
    return _pulled(models_home, MULTILINGUAL_E5_SMALL.name)


@pytest.fixture(scope="session")
def minilm_folder(models_home: Path) -> Path:
    """all-MiniLM-L6-v2 as sentence-transformers stores it, whole."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BANKML_HOME", str(models_home))
        return folders.minilm()


@pytest.fixture(scope="session")
def xlmr_folder(models_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two layers of XLM-RoBERTa with seeded F32 weights and its real tokenizer.json, CLS pooling, licence MIT."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BANKML_HOME", str(models_home))
        return folders.xlm_roberta(tmp_path_factory.mktemp("folders") / "xlm-roberta", hidden=64, dtype="F32")


@pytest.fixture(autouse=True)
def isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the user's files, settings or Ollama store."""
    for name in list(os.environ):
        if name in VARIABLES or (name.startswith("BANKML_") and name != "BANKML_BACKEND"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("BANKML_HOME", str(tmp_path / "bankml-home"))
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path / "ollama-models"))


@pytest.fixture
def stocked_home(minilm: Path, e5: Path) -> Path:
    """The test's own BANKML_HOME with the real built-ins linked into it: their names work without a download."""
    home = Settings.read().home
    (home / "models").mkdir(parents=True)
    for model in (minilm, e5):
        (home / "models" / model.name).symlink_to(model)
    return home


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[stub.Hub]:
    """A hub of the test's own, which HF_ENDPOINT names."""
    with stub.running() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
        yield hub


@pytest.fixture(scope="session")
def model_repositories(minilm_folder: Path) -> dict[str, dict[str, bytes]]:
    """bge-small-en-v1.5 and nomic-embed-text-v1.5 in two layers: files by repository."""
    return {hub_models.BGE: hub_models.bge_small(minilm_folder), hub_models.NOMIC: hub_models.nomic(minilm_folder)}


@pytest.fixture
def model_hub(hub: stub.Hub, model_repositories: dict[str, dict[str, bytes]]) -> stub.Hub:
    """The test's own hub with these: `bge-small-en-v1.5` can be pulled from it, `nomic-embed-text` is refused."""
    for name, files in model_repositories.items():
        hub.add(name, files, licence="apache-2.0" if name == hub_models.NOMIC else "mit")
    return hub


@pytest.fixture(scope="session")
def seeded_gguf(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A small real model of 2.9 MB: large enough to be interrupted on its way."""
    return seeded.tiny(tmp_path_factory.mktemp("seeded") / "seeded.gguf", hidden=256, ffn=512).read_bytes()


@pytest.fixture
def unsaid(tmp_path: Path) -> Path:
    """A small model without the key tokenizer.ggml.token_type."""
    path = seeded.tiny(tmp_path / "unsaid.gguf")
    key = b"tokenizer.ggml.token_type"
    path.write_bytes(path.read_bytes().replace(key + b"\x09", b"tokenizer.ggml.token_typo\x09"))
    return path


@pytest.fixture(scope="session")
def odd_texts() -> list[str]:
    """Empty ones, blank ones, NUL, all controls, lone surrogates, and what else is hard to tokenize."""
    controls = "".join(map(chr, (*range(32), *range(0x7F, 0xA0))))
    blanks = [" ", "\t", "\n", "\r\n", " \t\n\r\v\f ", "\u00a0\u2003\u3000", " " * 5000]
    surrogates = ["\ud800", "\udfff", "a\udc80b", "\ud83d \ude00", "\ude00\ud83d", "\ud83d\ud83d\ude00", "\udcff" * 600]
    return [*HARD, controls, f"a{controls}b", *controls, *blanks, "\0", "\0\0", "a\0b", *surrogates]


@pytest.fixture(scope="session")
def long_positions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model of XLM-R's kind with room for 8,192 tokens."""
    return seeded.tiny(tmp_path_factory.mktemp("long") / "long.gguf", vocabulary="unigram", positions=8192)


@pytest.fixture(scope="session")
def overflowing() -> Callable[..., Path]:
    """Makes a small model in which the first word of a text has a row whose sum is above all of f32."""

    def make(path: Path, text: str, pooling: seeded.Pooling = "mean") -> Path:
        seeded.tiny(path, dtype="F32", pooling=pooling)
        with Encoder(path) as encoder:
            token, dims = encoder.tokenize(text)[1], encoder.dims
        table = next(tensor for tensor in GGUFReader(path).tensors if tensor.name == "token_embd.weight")
        with path.open("r+b") as file:
            file.seek(int(table.data_offset) + 4 * dims * token)
            file.write(np.full(dims, 3e38, np.float32).tobytes())
        return path

    return make


@pytest.fixture(scope="session")
def home(tmp_path_factory, minilm: Path, e5: Path) -> Path:
    """A BANKML_HOME with both built-ins."""
    home = tmp_path_factory.mktemp("home")
    (home / "models").mkdir()
    for model in (minilm, e5):
        (home / "models" / model.name).symlink_to(model)
    return home


@pytest.fixture(scope="session")
def serving() -> Callable[..., AbstractContextManager[Server]]:
    """Starts a server of the test's own."""
    return running


@pytest.fixture(scope="session")
def server(home: Path) -> Iterator[Server]:
    """Serves all-minilm-l6-v2; multilingual-e5-small is there by name."""
    with running(home, "--model", "all-minilm") as server:
        yield server


@pytest.fixture(scope="session")
def http(server: Server) -> Iterator[httpx.Client]:
    """A client of the shared server."""
    with httpx.Client(base_url=server.url, timeout=60) as client:
        yield client


@pytest.fixture(scope="session")
def encoder(minilm: Path) -> Iterator[Encoder]:
    """The same model in this process: what the server's answers are compared with."""
    with Encoder(minilm) as encoder:
        yield encoder


@pytest.fixture(scope="session")
def postgres() -> Iterator[postgresql.Postgres]:
    """A PostgreSQL of the tests' own."""
    with postgresql.running() as server:
        yield server


@pytest.fixture
def dsn(postgres: postgresql.Postgres) -> str:
    """Of a place of the test's own in a database with pgvector."""
    return postgres.schema()


def _pulled(home: Path, name: str) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BANKML_HOME", str(home))
        return models.pull(name)


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """The sample history, where its vectors may be written."""
    path = tmp_path / "sample.history"
    path.write_bytes((Path(__file__).parents[1] / "examples" / "sample.history").read_bytes())
    return path
