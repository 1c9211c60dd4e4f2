import os
from pathlib import Path

import pytest

from bankml import models
from bankml.errors import ModelError
from bankml.models import builtin, catalogue, hub_store, names, pinned, presets
from bankml.models.hub_name import HubName
from bankml.models.hub_store import HubModel
from bankml.models.names import Choice, choose, find
from bankml.settings import Settings

BGE_M3 = "registry.ollama.ai/library/bge-m3/latest"


def test_nothing_named_and_nothing_there_is_the_built_in_default() -> None:
    choice = choose()
    assert (choice.name, choice.kind, choice.present) == ("all-minilm-l6-v2", "builtin", False)
    assert choice.path == Settings.read().models / "all-minilm-l6-v2-f16.gguf"
    assert choice.reason == (
        "the built-in default: no model was named, and bge-m3 is neither in Ollama's store nor pulled "
        "(pulled once: 84 MB)"
    )
    assert (choice.licence.id, choice.licence.open) == ("Apache-2.0", True)


def test_nothing_named_takes_bge_m3_of_the_store(store, tiny_gguf: Path) -> None:
    blob = store.add(BGE_M3, tiny_gguf, licences=("mit",))
    choice = choose()
    assert (choice.name, choice.kind, choice.path, choice.present) == ("bge-m3:latest", "ollama", blob, True)
    assert choice.reason == f"a model of Ollama's store {store.root}; no model was named"
    assert choice.licence.id == "MIT"


def test_a_broken_bge_m3_is_passed_over_with_the_reason(store, tiny_gguf: Path) -> None:
    store.add(BGE_M3, tiny_gguf).unlink()
    choice = choose()
    assert choice.name == "all-minilm-l6-v2"
    assert "bge-m3 cannot be used (bge-m3:latest: the blob" in choice.reason
    with pytest.raises(ModelError, match="is missing; run `ollama pull bge-m3:latest`"):
        choose("bge-m3")


@pytest.mark.parametrize("variable", ["BANKML_EMBED_MODEL", "MINDX_EMBED_MODEL"])
def test_the_environment_names_the_default(
    store, tiny_gguf: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    store.add(BGE_M3, tiny_gguf)
    monkeypatch.setenv(variable, "e5-small")
    choice = choose()
    assert choice.name == "multilingual-e5-small"
    assert choice.reason.startswith(f"a built-in, named by {variable}")
    assert choose("bge-m3").name == "bge-m3:latest"
    monkeypatch.setenv(variable, "nothing-like-it")
    with pytest.raises(ModelError, match="no model 'nothing-like-it'"):
        choose()


def test_a_path_is_a_file(tiny_gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tiny_gguf.parent)
    for name in (str(tiny_gguf), "./tiny.gguf", "tiny.gguf", f"../{tiny_gguf.parent.name}/tiny.gguf"):
        choice = choose(name)
        assert (choice.name, choice.kind, choice.reason) == ("tiny", "file", "a file, as asked")
        assert choice.path.samefile(tiny_gguf)
        assert choice.path.is_absolute()
    assert choose("tiny.gguf").licence.id == "MIT"
    monkeypatch.setenv("HOME", str(tiny_gguf.parent))
    assert choose("~/tiny.gguf").path == tiny_gguf


def test_a_file_without_a_known_ending_needs_a_slash(
    tmp_path: Path, tiny_gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("all-minilm").symlink_to(tiny_gguf)
    assert choose("all-minilm").kind == "builtin"
    assert choose("./all-minilm").kind == "file"


def test_an_alias_or_an_ollama_name_may_hold_a_slash(store, tiny_gguf: Path) -> None:
    store.add("registry.ollama.ai/me/model/latest", tiny_gguf)
    assert choose("sentence-transformers/all-MiniLM-L6-v2").name == "all-minilm-l6-v2"
    assert choose("me/model").name == "me/model:latest"


def test_a_built_in_goes_before_ollama(store, tiny_gguf: Path) -> None:
    store.add("registry.ollama.ai/library/all-minilm/latest", tiny_gguf)
    store.add("registry.ollama.ai/library/all-minilm/33m", tiny_gguf)
    assert choose("all-minilm").kind == "builtin"
    assert choose("all-minilm:33m").kind == "ollama"


def test_a_file_in_our_folder_goes_by_its_stem(tiny_gguf: Path) -> None:
    Settings.read().models.mkdir(parents=True)
    (Settings.read().models / "mine.gguf").symlink_to(tiny_gguf)
    choice = choose("mine")
    assert (choice.name, choice.kind, choice.licence.id) == ("mine", "file", "MIT")


def test_own_files_answer_to_the_names_they_are_listed_by(tiny_gguf: Path) -> None:
    folder = Settings.read().models
    folder.mkdir(parents=True)
    (folder.parent / "outside.gguf").symlink_to(tiny_gguf)
    for name in ("my model", "größe", "m[f16]", "a:b", "..", "odd\udcff"):
        (folder / f"{name}.gguf").symlink_to(tiny_gguf)
        for found in (choose(name), find(name)):
            assert (found and found.name, found and found.path) == (name, folder / f"{name}.gguf")
    own = {choice.name for choice in catalogue.choices() if choice.kind == "file"}
    assert own == {"my model", "größe", "m[f16]", "a:b", "..", "odd\udcff"}
    for name in ("../outside", "models/my model", "none\0", "n" * 5000):
        assert find(name) is None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("hf:owner/repo/file.bin", "is not a name on a hub: it is hf:owner/repo or hf:owner/repo/file.gguf"),
        ("hf:../../x.gguf", "is not a name on a hub"),
        ("/no/such/file", "there is no file '/no/such/file': check the path"),
        ("none.gguf", "there is no file 'none.gguf'"),
        ("~nobody-of-this-name/x.gguf", "there is no file '~nobody-of-this-name/x.gguf'"),
        ("/tmp", "'/tmp' is a folder"),
        ("a b", "'a b' is not a model name.*; a file's name must end in .gguf or start with ./"),
        ("a\0b.gguf", "there is no file"),
        ("a/b/c/d", "has 4 parts"),
        (
            "nothing",
            "no model 'nothing' is on this machine; built in: all-minilm-l6-v2, multilingual-e5-small; in Ollama's",
        ),
        ("all-minilm-l6", "did you mean all-minilm-l6-v2?"),
        ("bge-m3:other", "or run `ollama pull bge-m3:other`"),
        ("owner/repo", "or run `ollama pull owner/repo` or `bankml pull hf:owner/repo`"),
    ],
)
def test_a_name_that_leads_nowhere_is_answered_with_what_would_work(name: str, words: str) -> None:
    with pytest.raises(ModelError) as error:
        choose(name)
    assert words.split(".*")[0] in str(error.value)
    assert words.split(".*")[-1] in str(error.value)


def test_an_unknown_name_lists_the_encoders_of_the_store(store, tiny_gguf: Path) -> None:
    store.add(BGE_M3, tiny_gguf)
    store.add("registry.ollama.ai/library/llama3/latest", tiny_gguf, family="llama")
    with pytest.raises(ModelError, match="in Ollama's store: bge-m3:latest; or give"):
        choose("nothing")


def test_a_server_finds_only_names_of_models_that_are_here(
    store, tiny_gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add(BGE_M3, tiny_gguf)
    monkeypatch.chdir(tiny_gguf.parent)
    found = find("bge-m3")
    assert isinstance(found, Choice)
    assert found.name == "bge-m3:latest"
    for name in (
        "all-minilm",
        "nothing",
        "tiny.gguf",
        str(tiny_gguf),
        "./tiny.gguf",
        "",
        "a b",
        "../../x",
        "hf:a/b/c.gguf",
    ):
        assert find(name) is None
    assert names.LISTED > 0


def test_a_licence_that_the_file_states_counts_where_ollama_is_silent(store, tiny_gguf: Path, tmp_path: Path) -> None:
    store.add(BGE_M3, tiny_gguf)
    assert choose("bge-m3").licence.id == "MIT"
    (tmp_path / "text.gguf").write_text("no model")
    assert choose(str(tmp_path / "text.gguf")).licence.id == "unknown"


def test_what_is_no_regular_file(tmp_path):
    os.mkfifo(tmp_path / "pipe.gguf")
    for name in ("/dev/zero", str(tmp_path / "pipe.gguf"), tmp_path / "pipe.gguf"):
        with pytest.raises(ModelError, match="not a regular file"):
            choose(name)


def pulled(name: str, gguf: Path, sha256: str = "a" * 64, chosen: bool = False) -> Path:
    """As if `gguf` had been pulled under `name`."""
    wanted = HubName.parse(name)
    path = hub_store.place(wanted, Settings.read())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(gguf)
    hub_store.write(HubModel(wanted, path, "c" * 40, sha256, gguf.stat().st_size, "mit", chosen))
    return path


def test_a_pulled_model_goes_by_its_name_on_the_hub(tiny_gguf: Path) -> None:
    path = pulled("hf:o/r/a/tiny.gguf", tiny_gguf)
    for name in ("hf:o/r/a/tiny.gguf",):
        choice = choose(name)
        assert (choice.name, choice.kind, choice.path, choice.present) == ("hf:o/r/a/tiny.gguf", "hub", path, True)
        assert (choice.reason, choice.licence.id) == ("a model pulled from a hub, as asked", "MIT")
        assert find(name) == choice
    for name in ("hf:o/r", "hf:o/r@main", "hf:o/r/tiny.gguf", "hf:O/r"):
        assert find(name) is None


def test_a_repositorys_name_is_the_file_that_its_pull_brought_and_no_other(tiny_gguf: Path) -> None:
    for file in ("q8.gguf", "q4-F16.gguf"):
        pulled(f"hf:o/r/{file}", tiny_gguf)
    assert not choose("hf:o/r").present
    assert str(names.not_here("hf:o/r")) == (
        "hf:o/r was not pulled by that name: run `bankml pull hf:o/r`, or name a file of it that is here: "
        "hf:o/r/q4-F16.gguf, hf:o/r/q8.gguf"
    )
    assert find("hf:o/r") is None
    path = pulled("hf:o/r/q5.gguf", tiny_gguf, chosen=True)
    assert (choose("hf:o/r").name, choose("hf:o/r").path) == ("hf:o/r/q5.gguf", path)
    assert find("hf:o/r@main") is None


def test_what_a_hub_has_and_was_not_pulled_is_never_fetched_by_using_it(hub) -> None:
    for name, words in (
        ("bge-m3", "run `bankml pull bge-m3` (1,158 MB) or `ollama pull bge-m3`"),
        ("hf:o/r/m.gguf", "run `bankml pull hf:o/r/m.gguf`"),
    ):
        assert not choose(name).present
        assert find(name) is None
        with pytest.raises(ModelError) as error:
            models.resolve(name)
        assert f"{name} is not on this machine: {words}" in str(error.value)
    assert hub.requests == []


def test_a_pulled_bge_m3_is_bge_m3_and_the_default(tiny_gguf: Path) -> None:
    path = pulled(pinned.BGE_M3.source, tiny_gguf, pinned.BGE_M3.gguf_sha256)
    for name in ("bge-m3", "BGE-M3:latest", "bge-m3:567m", "BAAI/bge-m3", None):
        choice = choose(name)
        assert (choice.name, choice.kind, choice.path, choice.present) == ("bge-m3", "hub", path, True)
    assert choose().reason == "a model pulled from a hub; no model was named"


def test_another_file_in_its_place_is_not_bge_m3(tiny_gguf: Path) -> None:
    pulled(pinned.BGE_M3.source, tiny_gguf)
    assert not choose("bge-m3").present
    assert choose().path == builtin.path(presets.DEFAULT, Settings.read())


def test_ollamas_bge_m3_goes_first_unless_it_is_broken(store, tiny_gguf: Path) -> None:
    path = pulled(pinned.BGE_M3.source, tiny_gguf, pinned.BGE_M3.gguf_sha256)
    blob = store.add(BGE_M3, tiny_gguf)
    for name in ("bge-m3", "BAAI/bge-m3", "bge-m3:567m", None):
        assert choose(name).path == blob
    blob.unlink()
    for name in ("bge-m3", None):
        assert choose(name).path == path


def test_an_own_file_of_that_name_goes_before_both(store, tiny_gguf: Path) -> None:
    store.add(BGE_M3, tiny_gguf)
    own = Settings.read().models / "bge-m3.gguf"
    own.parent.mkdir(parents=True)
    own.symlink_to(tiny_gguf)
    assert choose("bge-m3").path == own
    assert choose().kind == "ollama"
