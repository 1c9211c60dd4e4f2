"""A repository of safetensors, from the name that people write to a model that embeds."""

import hashlib
import json
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from huggingface_hub import constants

import bankml
from bankml import models
from bankml.errors import ModelError
from bankml.models import choose, conversion, disk, fetch, header, hub_store, pull, resolve, short_names, transfer
from bankml.settings import Settings
from oracle.folders import FolderReference
from tests.hub import COMMIT, Hub
from tests.hub_models import BGE, BGE_NEEDED, NOMIC, sharded

NAME = "bge-small-en-v1.5"
TINY = "hf:o/tiny"


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "WAITS", (0.01, 0.01, 0.01))


@pytest.fixture
def tiny(bert_folder: Path) -> dict[str, bytes]:
    """The files of a BERT of a few KB, with a modules.json."""
    kinds = [("", "Transformer"), ("1_Pooling", "Pooling")]
    modules = [{"path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind in kinds]
    (bert_folder / "modules.json").write_text(json.dumps(modules))
    return {
        path.relative_to(bert_folder).as_posix(): path.read_bytes() for path in bert_folder.rglob("*") if path.is_file()
    }


@pytest.fixture
def stocked(hub: Hub, tiny: dict[str, bytes]) -> Hub:
    hub.add("o/tiny", tiny)
    return hub


def edited(content: bytes, **changes: object) -> bytes:
    return json.dumps(json.loads(content) | changes).encode()


def place(owner: str = "o", repo: str = "tiny") -> Path:
    return Settings.read().models / "converted" / owner / repo


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))


def refused(name: str = TINY) -> str:
    with pytest.raises(ModelError) as error:
        pull(name)
    assert not choose(name).present
    return str(error.value)


@pytest.mark.parametrize("name", [NAME, "BAAI/bge-small-en-v1.5", "hf:BAAI/bge-small-en-v1.5"])
def test_a_pull_fetches_what_conversion_needs_and_leaves_the_model_and_its_record(
    model_hub: Hub, model_repositories, name: str
) -> None:
    path = pull(name)
    assert model_hub.fetched(BGE) == BGE_NEEDED
    asked = [request.path for request in model_hub.requests if "/resolve/" in request.path]
    assert all(f"/resolve/{COMMIT}/" in path for path in asked)
    assert leftovers(path.parent) == ["bge-small-en-v1.5-f16.gguf", "bge-small-en-v1.5-f16.gguf.json"]
    weights = model_repositories[BGE]["model.safetensors"]
    assert json.loads((path.parent / f"{path.name}.json").read_text()) == {
        "name": "hf:BAAI/bge-small-en-v1.5",
        "commit": COMMIT,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "size": path.stat().st_size,
        "licence": "mit",
        "chosen": True,
        "weights": {"model.safetensors": hashlib.sha256(weights).hexdigest()},
    }
    said = header.read(path).metadata
    assert (said["general.name"], said["general.license"], said["general.organization"]) == (NAME, "mit", "BAAI")
    assert said["general.source.url"] == f"https://huggingface.co/{BGE}"
    choice = choose(NAME)
    assert (choice.name, choice.kind, choice.path, choice.present) == (NAME, "hub", path, True)
    assert choice.licence.id == "MIT"


def test_it_embeds_as_its_weights_do(model_hub: Hub, model_repositories, tmp_path: Path) -> None:
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_bytes(model_repositories[BGE][name])
    texts = ["why is the sky blue?", "a text of another kind, somewhat longer than the first"]
    with bankml.load(NAME) as encoder:
        assert (encoder.dims, encoder.pooling, encoder.context_length) == (384, "cls", 512)
        vectors, ids = encoder.encode(texts), [encoder.tokenize(text) for text in texts]
    for vector, right in zip(vectors, FolderReference(tmp_path, "cls").encode_ids(ids), strict=True):
        assert float(np.dot(vector, right)) >= 0.999999
    assert float(vectors[0] @ vectors[1]) < 0.99


def test_what_is_here_is_not_asked_for_by_any_of_its_names(model_hub: Hub) -> None:
    path = resolve(NAME).path  # using it is enough
    model_hub.requests.clear()
    for name in (NAME, "BGE-small-en-v1.5:latest", "BAAI/bge-small-en-v1.5", "hf:BAAI/bge-small-en-v1.5"):
        assert fetch(name)[1] is False
        assert resolve(name).path == choose(name).path == path
    assert model_hub.requests == []
    listed = {choice.name: choice for choice in models.catalogue.choices()}
    assert listed[NAME].path == path
    assert NAME not in models.catalogue.pullable()


def test_the_notice_is_told_once(stocked: Hub, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "bankml.models.notice")
    pull(TINY)
    assert caplog.messages == ["Optimising model hf:o/tiny for bankml's engine (one-time)…"]
    resolve(TINY)
    assert len(caplog.messages) == 1


def test_the_environment_may_name_it(stocked: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (TINY, "gte-small"):
        stocked.add("thenlper/gte-small", stocked.repositories["o/tiny"].files)
        monkeypatch.setenv("BANKML_EMBED_MODEL", name)
        assert resolve().name == name
        assert choose().reason == "a model pulled from a hub, named by BANKML_EMBED_MODEL"


def test_a_model_of_ollama_of_that_name_goes_first(hub: Hub, store, tiny_gguf: Path) -> None:
    blob = store.add("registry.ollama.ai/library/nomic-embed-text/latest", tiny_gguf)
    assert resolve("nomic-embed-text").path == pull("nomic-embed-text:latest") == blob
    assert hub.requests == []


def test_using_a_name_never_fetches_a_gguf_file(hub: Hub, seeded_gguf: bytes) -> None:
    hub.add("o/r", {"m-F16.gguf": seeded_gguf})
    with pytest.raises(ModelError, match="hf:o/r is not on this machine: run `bankml pull hf:o/r`"):
        resolve("hf:o/r")
    assert hub.downloads == []


@pytest.mark.parametrize("use", [pull, resolve])
def test_safetensors_go_before_the_gguf_files_beside_them(
    hub: Hub, tiny: dict[str, bytes], seeded_gguf: bytes, use: Callable[[str], object]
) -> None:
    """As in the repository of mxbai-embed-large: every name of it is one model, whoever asks."""
    hub.add("mixedbread-ai/mxbai-embed-large-v1", {**tiny, "gguf/m-f16.gguf": seeded_gguf})
    use("mxbai-embed-large")
    names = ("mxbai-embed-large", "mxbai-embed-large-v1", "hf:mixedbread-ai/mxbai-embed-large-v1")
    assert {choose(name).path.parent for name in names} == {place("mixedbread-ai", "mxbai-embed-large-v1")}
    assert "gguf/m-f16.gguf" not in hub.fetched("mixedbread-ai/mxbai-embed-large-v1")
    assert pull("hf:mixedbread-ai/mxbai-embed-large-v1/gguf/m-f16.gguf").read_bytes() == seeded_gguf


def test_a_revision_is_another_model(stocked: Hub) -> None:
    stocked.repositories["o/tiny"].revisions = ("main", COMMIT, "refs/pr/1")
    one, other = pull(TINY), pull(f"{TINY}@refs/pr/1")
    assert (one.parent.name, other.parent.name) == ("tiny", "tiny@refs%2Fpr%2F1")
    assert choose(f"{TINY}@refs/pr/1").path == other
    assert {choice.name for choice in models.catalogue.choices()} >= {TINY, f"{TINY}@refs/pr/1"}


def test_a_graph_that_the_engine_does_not_run_is_refused_before_its_weights_are_fetched(model_hub: Hub) -> None:
    with pytest.raises(ModelError) as error:
        resolve("nomic-embed-text")
    assert str(error.value) == (
        "hf:nomic-ai/nomic-embed-text-v1.5 is of the architecture nomic_bert (NomicBertModel, code of its own), which "
        "bankml does not run: it runs encoders of BERT's and XLM-RoBERTa's kind, such as all-minilm-l6-v2, "
        "bge-small-en-v1.5, multilingual-e5-base, snowflake-arctic-embed-s"
    )
    assert "config.json" in model_hub.fetched(NOMIC)
    assert all(name.endswith(".json") and name != "tokenizer.json" for name in model_hub.fetched(NOMIC))
    assert leftovers(place("nomic-ai", "nomic-embed-text-v1.5")) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model_type": "modernbert", "architectures": ["ModernBertModel"]}, "architecture modernbert (ModernBertMod"),
        (
            {"model_type": "mpnet", "architectures": ["MPNetForMaskedLM"]},
            "architecture mpnet (MPNetForMaskedLM), which",
        ),
        (
            {"model_type": "bert", "architectures": ["BertForSequenceClassification"]},
            "BertForSequenceClassification), ",
        ),
        ({"auto_map": {"AutoModel": "x--y.Z"}}, "architecture bert (code of its own), which bankml does not run"),
        ({"model_type": None}, "architecture unknown, which"),
        ({"model_type": "\x1b[2J" * 99, "architectures": [1] * 99}, "architecture \ufffd[2J"),
        ({"hidden_act": "relu"}, "hf:o/tiny/config.json says hidden_act 'relu': only 'gelu' can be computed"),
        ({"position_embedding_type": "alibi"}, "hf:o/tiny/config.json says position_embedding_type 'alibi'"),
        ({"hidden_size": 10**40}, "hf:o/tiny/config.json says hidden_size 1000"),
    ],
)
def test_other_graphs(stocked: Hub, tiny: dict[str, bytes], changes: dict, words: str) -> None:
    tiny["config.json"] = edited(tiny["config.json"], **changes)
    sentence = refused()
    assert words in sentence
    assert len(sentence) < 500
    assert "model.safetensors" not in stocked.fetched("o/tiny")
    assert leftovers(place()) == []


def test_modules_that_a_file_cannot_express_and_a_pooling_that_is_unsaid(stocked: Hub, tiny: dict[str, bytes]) -> None:
    modules = json.loads(tiny["modules.json"])
    dense = [*modules, {"path": "2_Dense", "type": "sentence_transformers.models.Dense"}]
    tiny["modules.json"] = json.dumps(dense).encode()
    assert "hf:o/tiny/modules.json has the module 'Dense' at place 2" in refused()
    tiny["modules.json"] = json.dumps(modules[:1]).encode()
    assert "hf:o/tiny does not say how token vectors become one" in refused()
    assert "model.safetensors" not in stocked.fetched("o/tiny")


def test_a_transformer_in_a_folder_of_its_own(hub: Hub, tiny: dict[str, bytes]) -> None:
    modules = json.loads(tiny.pop("modules.json"))
    modules[0]["path"] = "0_Transformer"
    files = {path if path.startswith("1_") else f"0_Transformer/{path}": content for path, content in tiny.items()}
    hub.add("o/tiny", {**files, "modules.json": json.dumps(modules).encode()})
    assert header.read(pull(TINY)).arch == "bert"
    assert "0_Transformer/model.safetensors" in hub.fetched("o/tiny")


def test_weights_in_a_pickle_alone_are_refused_unseen(stocked: Hub, tiny: dict[str, bytes]) -> None:
    tiny["pytorch_model.bin"] = tiny.pop("model.safetensors")
    assert "has its weights in pytorch_model.bin alone, and a pickle may run any program" in refused()
    assert stocked.downloads == []


def test_weights_in_several_files(hub: Hub, tiny: dict[str, bytes]) -> None:
    hub.add("o/whole", tiny)
    hub.add("o/tiny", sharded(tiny))
    assert header.read(pull(TINY)).tensors == header.read(pull("hf:o/whole")).tensors
    shards = [f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
    assert hub.fetched("o/tiny")[-2:] == shards
    model = hub_store.find(hub_store.HubName("o", "tiny"), Settings.read())
    assert model is not None
    assert [name for name, _ in model.weights] == shards


@pytest.mark.parametrize("wrong", ["../../x", "/etc/passwd", "sub/x.safetensors", "none.safetensors", 5])
def test_an_index_that_leads_elsewhere(hub: Hub, tiny: dict[str, bytes], wrong: object) -> None:
    files = sharded(tiny)
    index = json.loads(files["model.safetensors.index.json"])
    index["weight_map"]["embeddings.LayerNorm.bias"] = wrong
    hub.add("o/tiny", files | {"model.safetensors.index.json": json.dumps(index).encode()})
    assert repr(wrong) in refused()
    assert leftovers(place()) == []


@pytest.mark.parametrize("wrong", ["../..", "/etc", "a/../../.."])
def test_modules_that_lead_elsewhere(stocked: Hub, tiny: dict[str, bytes], wrong: str) -> None:
    modules = json.loads(tiny["modules.json"])
    modules[1]["path"] = wrong
    tiny["modules.json"] = json.dumps(modules).encode()
    tiny[f"{wrong}/config.json"] = b"{}"
    assert f"hf:o/tiny/modules.json has a module at {wrong!r}" in refused()
    assert stocked.fetched("o/tiny") == ["modules.json"]


def test_files_that_are_not_asked_for_may_be_called_anything(stocked: Hub, tiny: dict[str, bytes], tmp_path) -> None:
    tiny.update({"../../../../escaped": b"x", "/etc/x.json": b"x", "a\x1b[2J": b"x", "config.json/x": b"x"})
    assert pull(TINY).is_file()
    assert not list(tmp_path.rglob("escaped"))


def test_small_files_that_are_not_small(hub: Hub, tiny: dict[str, bytes]) -> None:
    siblings = [
        {"rfilename": path, "size": 10**9 if path == "config.json" else len(content), "blobId": "b" * 40}
        for path, content in tiny.items()
        if path != "modules.json"
    ]
    hub.page = json.dumps({"sha": COMMIT, "siblings": siblings}).encode()
    assert "has a config.json of 1,000 MB, and at most 17 MB are read of it" in refused()
    assert hub.downloads == []


@pytest.mark.parametrize("lie", ["config.json", "1_Pooling/config.json", "vocab.txt", "model.safetensors"])
@pytest.mark.parametrize("content", [b"<html>Sign in</html>", b"", None])
def test_a_file_that_changed_since_it_was_listed_is_never_converted(
    stocked: Hub, tiny: dict[str, bytes], lie: str, content: bytes | None
) -> None:
    stocked.changed[lie] = tiny[lie][:-1] + b"?" if content is None else content
    sentence = refused()
    assert f"hf:o/tiny/{lie} came with the" in sentence or "and no more" in sentence or "answers 416" in sentence
    assert not choose(TINY).path.exists()
    stocked.changed.clear()
    with suppress(ModelError):  # too few bytes look like a part that is to be gone on from, until they are whole
        pull(TINY)
    assert pull(TINY).is_file()
    assert leftovers(place()) == ["tiny-f16.gguf", "tiny-f16.gguf.json"]


def test_a_page_instead_of_a_listing_and_a_hub_that_says_nothing(stocked: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    stocked.page = b"<html>Sign in</html>"
    assert "does not answer as a hub does" in refused()
    stocked.page = None
    monkeypatch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", 0.2)
    stocked.pause_after = 0
    assert "broke" in refused()
    stocked.go.set()
    assert pull(TINY).is_file()


def test_weights_that_are_damaged_are_not_kept(stocked: Hub, tiny: dict[str, bytes]) -> None:
    tiny["model.safetensors"] = tiny["model.safetensors"][:-10]
    assert "hf:o/tiny/model.safetensors" in refused()
    assert leftovers(place()) == []


def test_a_connection_that_breaks_is_taken_up_and_of_another_state_nothing_is_left(
    hub: Hub, tiny: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add("o/tiny", tiny)
    size = len(tiny["model.safetensors"])
    small = [name for name in tiny if name not in ("model.safetensors",)]
    hub.cuts = [*[10**9] * len(small), size // 2, 0, 0, 0]
    assert "kept as" in refused()
    source = place() / ".tiny-f16.gguf.source"
    (part,) = source.glob("model.safetensors.*.partial")
    kept = part.stat().st_size
    hub.requests.clear()
    whole = dict(tiny)
    assert pull(TINY).is_file()
    assert [(asked.range, asked.sent) for asked in hub.downloads] == [(f"bytes={kept}-", size - kept)]

    shutil.rmtree(place())
    source.mkdir(parents=True)
    (source / "model.safetensors").write_bytes(whole["model.safetensors"][:-1])
    (source / "model.safetensors.0123456789ab.partial").write_bytes(b"of another state")
    (source / "tokenizer.json").write_bytes(b"{}")
    (source / "vocab.txt").write_bytes(whole["vocab.txt"].replace(b"hello", b"jello"))  # rotten, of the right size
    hub.add("o/tiny", sharded(whole))
    with bankml.load(pull(TINY)) as encoder:
        assert encoder.tokenize("hello") == [2, 6, 3]
    assert leftovers(place()) == ["tiny-f16.gguf", "tiny-f16.gguf.json"]


SLOW = """
import sys, time
from bankml import models
def wait(what, done, total):
    if what.startswith(sys.argv[2]):
        print(what, flush=True)
        time.sleep(60)
models.pull(sys.argv[1], wait)
"""


def killed(stage: str) -> None:
    """A pull that is killed at `stage`."""
    command = [sys.executable, "-c", SLOW, NAME, stage]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(stage.encode())
        process.kill()


def test_a_pull_killed_in_the_middle_goes_on_from_there(model_hub: Hub, model_repositories) -> None:
    folder = place(*BGE.split("/"))
    killed("downloading model.safetensors")
    (part,) = (folder / f".{NAME}-f16.gguf.source").glob("*.partial")
    kept = part.stat().st_size
    assert not choose(NAME).present
    model_hub.requests.clear()
    killed("converting")
    size = len(model_repositories[BGE]["model.safetensors"])
    assert [(asked.range, asked.sent) for asked in model_hub.downloads] == [(f"bytes={kept}-", size - kept)]
    assert not choose(NAME).present
    assert leftovers(folder)[0].startswith(f".{NAME}-f16.gguf")
    model_hub.requests.clear()
    path = pull(NAME)
    assert model_hub.downloads == []  # all of it was here
    assert leftovers(folder) == [path.name, f"{path.name}.json"]


def test_a_pull_killed_before_its_record_is_no_pull(stocked: Hub) -> None:
    path = pull(TINY)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    path.with_name(f"{path.name}.json").unlink()
    assert not choose(TINY).present
    assert hashlib.sha256(pull(TINY).read_bytes()).hexdigest() == digest  # same weights, same bytes
    (place() / f".{path.name}.source").mkdir()  # killed after the record, before this was deleted
    assert fetch(TINY)[1] is False
    assert leftovers(place()) == [path.name, f"{path.name}.json"]


def test_a_record_of_another_state_is_not_taken_for_the_new_files(
    stocked: Hub, tiny: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = pull(TINY)
    path.unlink()  # and its record stays
    tiny["vocab.txt"] = tiny["vocab.txt"].replace(b"hello\n", b"bonjour\n", 1)
    with monkeypatch.context() as patch:
        patch.setattr(hub_store, "write", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            pull(TINY)
    assert path.is_file()
    assert not choose(TINY).present
    found = hashlib.sha256(pull(TINY).read_bytes()).hexdigest()
    assert choose(TINY).hub.sha256 == found


def test_two_processes_make_it_once(stocked: Hub) -> None:
    command = [sys.executable, "-m", "bankml", "pull", TINY]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
    told = [process.communicate(timeout=60) for process in running]
    assert {out.strip() for out, _ in told} == {os.fsencode(place() / "tiny-f16.gguf")}
    assert sum(b"Optimising model hf:o/tiny for bankml's engine (one-time)" in err for _, err in told) == 1
    assert stocked.fetched("o/tiny").count("model.safetensors") == 1


def test_too_little_room_is_said_before_the_weights_are_fetched(
    stocked: Hub, tiny: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 10, 1000))
    both = 2 * (len(tiny["model.safetensors"]) + len(tiny["vocab.txt"]))
    assert f"has 1,000 bytes free and pulling hf:o/tiny needs {both:,} bytes" in refused()
    assert "model.safetensors" not in stocked.fetched("o/tiny")


def test_a_disk_that_fills_up_while_it_converts_keeps_what_came(
    model_hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "disk"
    home.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=50m", "tmpfs", home]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small disk is mounted as root only")
    try:
        monkeypatch.setenv("BANKML_HOME", str(home))
        with monkeypatch.context() as patch:
            patch.setattr(disk, "check_space", lambda *_: None)  # the check that another test covers
            assert "No space left on device): free some space" in refused(NAME)
        subprocess.run(["mount", "-o", "remount,size=100m", home], check=True)
        model_hub.requests.clear()
        assert pull(NAME).is_file()
        assert model_hub.downloads == []
    finally:
        subprocess.run(["umount", home], check=True)


def test_without_a_hub_it_is_one_sentence(stocked: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANKML_SKIP_MODEL_DOWNLOAD", "1")
    words = (
        "hf:BAAI/bge-small-en-v1.5 is not on this machine and BANKML_SKIP_MODEL_DOWNLOAD forbids its download: unset it"
    )
    for use in (pull, resolve):
        with pytest.raises(ModelError) as error:
            use(NAME)
        assert str(error.value) == words
    assert stocked.requests == []
    monkeypatch.delenv("BANKML_SKIP_MODEL_DOWNLOAD")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(
        ModelError, match=r"^http://127\.0\.0\.1:9 cannot be reached .* on this machine: no model yet; or"
    ):
        resolve(NAME)


def test_every_short_name_that_runs_is_pulled_from_its_repository(stocked: Hub, tiny: dict[str, bytes]) -> None:
    for known in short_names.SHORT_NAMES:
        stocked.add(known.source.repository, tiny)
    for known in short_names.SHORT_NAMES[:3]:
        assert pull(known.names[-1]).parent.name == known.name
        assert choose(known.name).name == models.display(choose(known.names[-1])) == known.name


def test_what_the_engine_refuses_gets_no_name(stocked: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, source: object) -> None:
        raise ModelError(f"{path} cannot be loaded")

    monkeypatch.setattr(conversion, "_load", refuse)
    assert "cannot be loaded" in refused()
    assert leftovers(place()) == []
