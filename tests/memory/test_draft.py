"""What may be remembered: everything that is given is either refused in one sentence or fit to be stored."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as some

from bankml.errors import InputError
from bankml.memory.draft import CONTENT, LATEST, TAGS, TITLE, Draft
from bankml.store.record import CATEGORIES, NAMESPACES, encoded
from bankml.utf8 import whole

anything = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=40) | some.binary(max_size=20),
    lambda inner: some.lists(inner, max_size=4) | some.dictionaries(some.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
texts = some.text(some.characters(codec=None), max_size=80)  # halves of characters, controls and all


def of(**given):
    return Draft.of(**{"title": "t", "content": "c", **given})


def attempted(**given):
    """The draft, or the sentence that refuses it."""
    try:
        return of(**given)
    except InputError as error:
        return str(error)


@given(title=texts, content=texts, reasoning=texts, tags=some.lists(texts, max_size=6))
@example(title="a\ud800", content="\udfff\ud83d", reasoning="\ude00", tags=["\udc80"])
def test_any_texts_are_a_draft_that_can_be_stored_or_a_sentence(title, content, reasoning, tags):
    draft = attempted(title=title, content=content, reasoning=reasoning, tags=tags)
    if isinstance(draft, str):
        assert draft.isprintable()
        assert not (title.strip() and content.strip())
        return
    assert draft.text.encode().decode() == draft.text
    assert draft.title == " ".join(whole(title).split())
    assert draft.content in whole(content)
    assert draft.text.startswith(f"{draft.title}\n{draft.content}")
    assert all(tag == " ".join(tag.split()) and tag and "," not in tag for tag in draft.tags)
    assert len(set(draft.tags)) == len(draft.tags)
    assert Draft.of(draft.title, draft.content, reasoning=draft.reasoning, tags=draft.tags) == draft


@given(
    some.dictionaries(
        some.sampled_from(
            "title content category tags paths reasoning confidence namespace session supersedes valid_from".split()
        ),
        anything,
        min_size=1,
        max_size=3,
    )
)
def test_whatever_is_given_is_checked(given):
    draft = attempted(**given)
    if isinstance(draft, str):
        assert 20 < len(draft) < 400
        assert draft.isprintable()
        return
    assert draft.category in CATEGORIES
    assert draft.namespace in NAMESPACES
    assert 0 <= draft.confidence <= 1
    encoded([draft.title, draft.content, draft.tags, draft.reasoning, draft.session, draft.supersedes])


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"title": " \n"}, r"the title is ' \\n': it must say something"),
        ({"title": "x" * (TITLE + 1)}, r"the title has 501 characters, more than 500"),
        ({"content": "\n \n"}, r"the content is '': it must say something"),
        ({"content": "x" * (CONTENT + 1)}, r"the content has 1,048,577 characters, more than 1,048,576"),
        ({"content": 7}, r"the content is of type int: give a text"),
        ({"category": "opinion"}, r"the category is 'opinion': give fact, .* or state"),
        ({"confidence": 1.5}, r"the confidence is 1.5: give a number from 0 to 1"),
        ({"confidence": math.nan}, r"the confidence is nan"),
        ({"confidence": True}, r"the confidence is True"),
        ({"confidence": 10**5000}, r"the confidence is '0x"),
        ({"tags": [f"t{n}" for n in range(TAGS + 1)]}, r"the tags are 65, more than 64"),
        ({"tags": [",".join(f"t{n}" for n in range(TAGS + 1))]}, r"the tags are 65, more than 64"),
        ({"tags": ["x" * 101]}, r"a tag has 101 characters, more than 100"),
        ({"tags": "auth"}, r"'auth' stands for the tags: give a list"),
        ({"paths": [f"{n}.py" for n in range(65)]}, r"the paths are 65, more than 64"),
        ({"namespace": "world"}, r"the namespace is 'world': give session, project, organization or global"),
        ({"namespace": "session"}, r"the namespace is session, and no session is named"),
        ({"namespace": "global", "session": "s"}, r"the namespace is global, and a session is named"),
        ({"supersedes": ["x"]}, r"'x' is no id of a record"),
        ({"valid_from": LATEST + 1}, r"the time is 253402300800000000: give microseconds"),
        ({"provenance": {"a": object()}}, r"the provenance is no JSON"),
        ({"provenance": {"a": "x" * 20000}}, r"the provenance has 20,008 characters, more than 16,384"),
    ],
)
def test_what_is_refused(given, sentence):
    with pytest.raises(InputError, match=sentence):
        of(**given)


def test_what_is_given_is_put_in_order(tmp_path):
    draft = of(
        title="  A\n title ",
        content="\n  indented\nand more  \n\n",
        tags=["a, b", "b", " two   words ", ""],
        paths=["src/./a.py", b"src/a.py", "docs/"],
        session="s1",
        root=bytes(tmp_path),
    )
    assert draft.title == "A title"
    assert draft.content == "  indented\nand more"
    assert draft.tags == ("a", "b", "two words")
    assert draft.paths == (b"src/a.py", b"docs/")
    assert (draft.namespace, draft.session) == ("session", "s1")
    assert of().namespace == "project"
    assert of(content="\x1b[31mred").content == "\x1b[31mred"
    assert math.copysign(1, of(confidence=-0.0).confidence) == 1
