from pathlib import Path

from bankml.models import catalogue, hub_store, pinned
from bankml.models.description import Description
from bankml.models.hub_name import HubName
from bankml.models.hub_store import HubModel
from bankml.settings import Settings


def listed() -> dict[str, Description]:
    return {entry.choice.name: entry for entry in catalogue.entries()}


def test_built_ins_are_listed_before_they_are_pulled() -> None:
    entries = listed()
    assert list(entries) == ["all-minilm-l6-v2", "multilingual-e5-small", "bge-m3"]
    bge_m3 = entries.pop("bge-m3")
    assert (bge_m3.choice.kind, bge_m3.present, bge_m3.dims, bge_m3.context_length) == ("hub", False, 1024, 8192)
    assert (bge_m3.pooling, bge_m3.size, str(bge_m3.choice.licence)) == ("cls", 1_157_671_200, "MIT")
    for entry in entries.values():
        assert (entry.choice.kind, entry.choice.present, entry.dims, entry.pooling) == ("builtin", False, 384, "mean")
        assert entry.size > 40_000_000
        assert entry.metadata == {}


def test_pulled_files_and_ollamas_encoders_are_described(store, tiny_gguf: Path) -> None:
    Settings.read().models.mkdir(parents=True)
    (Settings.read().models / "mine.gguf").symlink_to(tiny_gguf)
    store.add("registry.ollama.ai/library/bge-m3/latest", tiny_gguf, licences=("mit",))
    store.add("registry.ollama.ai/library/llama3/latest", tiny_gguf, family="llama")
    store.manifest("registry.ollama.ai/library/broken/latest", b"{")
    layers = [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:" + "0" * 64, "size": 5}]
    store.manifest("registry.ollama.ai/library/gone/latest", {"layers": layers})
    entries = listed()
    assert set(entries) == {"all-minilm-l6-v2", "multilingual-e5-small", "mine", "bge-m3:latest"}
    for name, kind in (("mine", "file"), ("bge-m3:latest", "ollama")):
        entry = entries[name]
        assert (entry.choice.kind, entry.choice.present, entry.dims, entry.context_length) == (kind, True, 32, 16)
        assert (entry.pooling, entry.choice.licence.id, entry.size) == ("mean", "MIT", tiny_gguf.stat().st_size)


def test_a_file_that_is_no_model_is_listed_without_facts() -> None:
    Settings.read().models.mkdir(parents=True)
    (Settings.read().models / "text.gguf").write_text("no model")
    entry = listed()["text"]
    assert (entry.dims, entry.context_length, entry.pooling, entry.choice.licence.id) == (0, 0, "", "unknown")


def test_real_built_ins_have_the_facts_of_their_files(stocked_home: Path) -> None:
    for entry in listed().values():
        if entry.choice.kind == "hub":
            continue
        assert entry.choice.present
        assert entry.metadata["bert.embedding_length"] == entry.dims
        assert entry.metadata["bert.context_length"] == entry.context_length
        assert entry.metadata["general.license"] == entry.choice.licence.id.lower()
        assert entry.metadata["bert.pooling_type"] == 1
        assert entry.choice.preset is not None
        assert entry.size == entry.choice.preset.size


def test_what_was_pulled_is_listed_once_under_its_own_name(tiny_gguf: Path) -> None:
    for source, sha256 in (("hf:o/r/a.gguf", "a" * 64), (pinned.BGE_M3.source, pinned.BGE_M3.gguf_sha256)):
        name = HubName.parse(source)
        path = hub_store.place(name, Settings.read())
        path.parent.mkdir(parents=True)
        path.write_bytes(tiny_gguf.read_bytes())
        hub_store.write(HubModel(name, path, "c" * 40, sha256, 1, "apache-2.0"))
    entries = listed()
    assert list(entries)[2:] == ["bge-m3", "hf:o/r/a.gguf"]
    assert entries["bge-m3"].present
    entry = entries["hf:o/r/a.gguf"]
    assert (entry.name, entry.namespace, entry.choice.kind, entry.present) == ("hf:o/r/a.gguf", "o", "hub", True)
    assert (entry.dims, entry.pooling, entry.choice.licence.id) == (32, "mean", "Apache-2.0")
