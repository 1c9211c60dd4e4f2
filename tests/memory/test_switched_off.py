"""Where search.vector.enabled is false records are written and found by words, and both say so."""

from pathlib import Path

from bankml.library.model import binding
from bankml.library.model.configure import change
from bankml.library.search.searcher import Searcher
from bankml.memory.draft import Draft
from bankml.memory.recall.recaller import Recaller
from bankml.memory.writing import remember
from bankml.settings import Settings
from bankml.store import Store
from oracle import seeded

ENABLED, MODEL = "search.vector.enabled", "search.vector.model"


def test_words_alone_and_nothing_is_embedded(tmp_path: Path) -> None:
    model = seeded.tiny(tmp_path / "small.gguf")
    with Store.create(tmp_path / "kb.db") as store:
        change(store.path, {MODEL: str(model), ENABLED: False})
        settings = Settings.read()
        draft = Draft.of(title="Sessions expire", content="A token lives for an hour.")
        written = remember(store, settings, draft)
        assert written.embedded == 0
        assert "search.vector.enabled is false" in written.why
        with Searcher(store, lambda: binding.embedder(store, settings)) as searcher:
            found = Recaller(searcher).recall("how long does a token live")
            assert [memory.record.id for memory in found.results] == [written.id]
            assert "search.vector.enabled is false" in found.status
            change(store.path, {ENABLED: True})
            second = remember(store, settings, Draft.of(title="Tokens are long", content="A token has 64 digits."))
            assert second.embedded == second.passages
            assert "search.vector.enabled" not in Recaller(searcher).recall("a token").status


def test_another_model_is_answered_by_words_and_not_compared(tmp_path: Path) -> None:
    one, other = (seeded.tiny(tmp_path / f"{seed}.gguf", seed=seed) for seed in (0, 1))
    with Store.create(tmp_path / "kb.db") as store:
        change(store.path, {MODEL: str(one)})
        settings = Settings.read()
        kept = remember(store, settings, Draft.of(title="Sessions expire", content="A token lives for an hour."))
        assert kept.embedded == 1
        change(store.path, {MODEL: str(other)})
        with Searcher(store, lambda: binding.embedder(store, settings)) as searcher:
            found = Recaller(searcher).recall("a token")
        assert [(memory.record.id, memory.cosine) for memory in found.results] == [(kept.id, None)]
        assert "Model mismatch" in found.status
        assert f"{MODEL} specifies" in found.status
        later = remember(store, settings, Draft.of(title="Tokens are long", content="A token has 64 digits."))
        assert later.embedded == 0
        assert "Model mismatch" in later.why
