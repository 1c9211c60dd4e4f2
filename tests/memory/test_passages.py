"""A record's passages: the whole text, each part where it says, none longer than the model reads."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as some

from bankml.documents.estimate import estimate
from bankml.embedders import choose
from bankml.errors import UnavailableError
from bankml.library.model.configuration import Configuration
from bankml.memory.draft import Draft
from bankml.memory.passages import cut
from oracle import seeded

LINES = [
    "# Deploy",
    "## Roll back",
    "Say `git revert`; then wait.",
    "- one",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "```\ncode\n```",
]
LINES += [
    "",
    "漢字かな交じり文。" * 9,
    "<!-- hidden -->",
    "\x1b[31m",
    "x" * 300,
    "---",
    "title: front",
    "word " * 40,
    "\u3000",
]


def of(path, tokens=64, overlap=16):
    return Configuration(path / "config.yaml", tokens=tokens, overlap=overlap)


@pytest.fixture(scope="module")
def configuration(tmp_path_factory):
    return of(tmp_path_factory.mktemp("base"))


@settings(deadline=None)
@given(lines=some.lists(some.sampled_from(LINES) | some.text(max_size=60), min_size=1, max_size=25))
@example(lines=["---", "title: front", "---", "x" * 300, "<!--", "\x00" * 3000, "\u200d" * 3000])
def test_passages_hold_every_character_where_they_say_it_is(configuration, lines):
    try:
        draft = Draft.of("A title of some words", "\n".join(lines), reasoning="because of this", tags=["a", "b"])
    except ValueError:
        return
    made = cut(draft.title, draft.text, None, configuration)
    text, held = draft.text, set(range(len(draft.title) + 1))
    for passage in made.passages:
        assert text[passage.start : passage.end] == passage.text
        assert passage.heading.startswith("A title of some words") or "…" in passage.heading
        assert passage.tokens == estimate([passage.embedded])[0] <= 64
        held.update(range(passage.start, passage.end))
    assert all(text[at].isspace() for at in set(range(len(text))) - held)
    assert made.clipped == 0


def test_a_record_that_fits_is_one_passage_that_is_its_recipe(configuration, embedder):
    draft = Draft.of("Sessions expire", "In an hour.", reasoning="why", tags=["a", "b"])
    for model in (None, embedder()):
        (passage,) = cut(draft.title, draft.text, model, configuration).passages
        assert passage.embedded == draft.text == "Sessions expire\nIn an hour.\nReasoning: why\nTags: a, b"
        assert (passage.start, passage.end) == (16, len(draft.text))


def test_tokens_are_the_models_own(configuration, embedder):
    draft = Draft.of("Sessions expire", "\n\n".join(f"Paragraph {n} is about the tokens of {n}." for n in range(60)))
    made = cut(draft.title, draft.text, embedder(), configuration)
    assert len(made.passages) > 10
    counted = embedder().count([passage.embedded for passage in made.passages])
    assert [passage.tokens for passage in made.passages] == counted
    assert max(counted) <= 64
    assert made.recipe != cut(draft.title, draft.text, None, configuration).recipe


def test_no_passage_is_longer_than_the_model_reads(tmp_path, embedder):
    longest = embedder().context_length
    draft = Draft.of("Long", "many words of which no sentence ends " * 2000)
    made = cut(draft.title, draft.text, embedder(), of(tmp_path, 8192, 0))
    assert max(passage.tokens for passage in made.passages) <= longest
    assert (len(made.passages) > 1, made.clipped) == (True, 0)


def test_what_a_model_of_few_positions_clips_is_counted(tmp_path):
    model = choose(name=seeded.tiny(tmp_path / "few.gguf", positions=16))
    draft = Draft.of("Few", "one two three four five six seven eight nine ten " * 8)
    made = cut(draft.title, draft.text, model, of(tmp_path))
    counted = model.count([passage.embedded for passage in made.passages])
    assert made.clipped == sum(tokens - 16 for tokens in counted if tokens > 16) > 0
    assert all(draft.text[passage.start : passage.end] == passage.text for passage in made.passages)


@pytest.mark.parametrize("error", [UnavailableError("it is gone"), OSError(5, "an error of a disk"), MemoryError()])
def test_a_model_that_cannot_count_leaves_an_estimate(configuration, error):
    class Gone:
        context_length = 64

        def count(self, texts):
            raise error

    draft = Draft.of("t", "c " * 500)
    assert cut(draft.title, draft.text, Gone(), configuration) == cut(draft.title, draft.text, None, configuration)
