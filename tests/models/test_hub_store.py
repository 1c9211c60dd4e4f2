import json
from pathlib import Path

import pytest

from bankml.models import hub_store
from bankml.models.hub_name import HubName
from bankml.models.hub_store import HubModel
from bankml.settings import Settings


def put(text: str, content: bytes = b"GGUF", chosen: bool = False) -> HubModel:
    name, settings = HubName.parse(text), Settings.read()
    model = HubModel(name, hub_store.place(name, settings), "c" * 40, "a" * 64, len(content), "mit", chosen)
    model.path.parent.mkdir(parents=True, exist_ok=True)
    model.path.write_bytes(content)
    hub_store.write(model)
    return model


def test_what_was_written_is_found() -> None:
    settings = Settings.read()
    stored = [put(name) for name in ("hf:o/r/a.gguf", "hf:o/r/b/c-F16.gguf", "hf:o/r/a.gguf@v/1", "hf:p/r/A.GGUF")]
    assert stored[0].path == settings.models / "hf" / "o" / "r" / "a.gguf"
    assert stored[2].path == settings.models / "hf" / "o" / "r@v%2F1" / "a.gguf"
    for model in stored:
        assert hub_store.find(model.name, settings) == model
    assert set(hub_store.models(settings)) == set(stored)
    assert hub_store.files(HubName("o", "r"), settings) == stored[:2]
    assert hub_store.find(HubName("o", "r"), settings) is None
    chosen = put("hf:o/r/z.gguf", chosen=True)
    assert hub_store.find(HubName("o", "r"), settings) == chosen
    assert hub_store.find(HubName("o", "r", "", "v/1"), settings) is None
    assert hub_store.find(HubName("o", "r", "none.gguf"), settings) is None


@pytest.mark.parametrize(
    "record",
    [None, b"", b"{", b"[]", b"[" * 100_000, {"sha256": "zz"}, {"sha256": "A" * 64}, {"size": "4"}, {"commit": None}],
)
def test_a_file_without_a_sound_record_is_not_pulled(record: bytes | dict | None) -> None:
    model = put("hf:o/r/a.gguf")
    path = model.path.with_name("a.gguf.json")
    if isinstance(record, dict):
        record = json.dumps(json.loads(path.read_text()) | record).encode()
    path.unlink() if record is None else path.write_bytes(record)
    assert hub_store.find(model.name, Settings.read()) is None
    assert hub_store.models(Settings.read()) == []


def test_a_record_without_its_file_is_not_pulled() -> None:
    model = put("hf:o/r/a.gguf")
    model.path.unlink()
    assert hub_store.find(model.name, Settings.read()) is None


def test_nothing_pulled_and_things_that_are_not_ours() -> None:
    settings = Settings.read()
    assert hub_store.models(settings) == []
    other = settings.models / "hf" / "o" / "r@%41" / "a.gguf"
    other.parent.mkdir(parents=True)
    other.write_bytes(b"GGUF")
    Path(f"{other}.json").write_text("{}")
    assert hub_store.models(settings) == []
