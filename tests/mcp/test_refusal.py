import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from bankml.mcp.refusal import refusal
from bankml.mcp.tools import TOOLS

SEARCH = TOOLS["search"].takes
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, "query is missing: give a text of 1 to 4,000 characters"),
        ({"query": ""}, "query is '': give a text of 1 to 4,000 characters"),
        ({"query": "a" * 4001}, "query has 4,001 characters: give a text of 1 to 4,000 characters"),
        ({"query": 7}, "query is 7: give a text of 1 to 4,000 characters"),
        ({"query": "a", "n": 0}, "n is 0: give a whole number from 1 to 50"),
        ({"query": "a", "n": True}, "n is True: give a whole number from 1 to 50"),
        ({"query": "a", "n": float("nan")}, "n is nan: give a whole number from 1 to 50"),
        ({"query": "a", "mode": "magic"}, "mode is 'magic': give one of fused, words, meaning"),
        ({"query": "a", "type": ["pdf", 3]}, "type[1] is 3: give a text of 1 to 40 characters"),
        (
            {"query": "a", "type": ["pdf"] * 21},
            "type has 21 entries: give a list of at most 20, each of them a text of 1 to 40 characters",
        ),
        (
            {"query": "a", "limit": 3},
            "there is no argument 'limit': there are query, n, mode, path, type, after, before, document",
        ),
        ({"query": ["\x1b[2J" * 100]}, "query is "),
    ],
)
def test_what_will_not_do_is_told_with_what_would(given: dict, sentence: str) -> None:
    said = refusal(SEARCH, given)
    assert said.startswith(sentence)
    assert len(said) < 300
    assert "\x1b" not in said


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1.5, "high"])
def test_a_number_that_is_none(value: object) -> None:
    said = refusal(TOOLS["remember"].takes, {"content": "a", "confidence": value})
    assert said == f"confidence is {value!r}: give a number from 0 to 1"


def test_what_fits_is_not_refused() -> None:
    assert refusal(SEARCH, {"query": "a", "n": 50, "path": ["*.md"], "document": 1}) == ""


@given(st.dictionaries(st.sampled_from(sorted(SEARCH["properties"])) | st.text(max_size=5), JSON, max_size=5))
def test_any_arguments_are_refused_exactly_where_they_do_not_fit(given: dict) -> None:
    fits = Draft202012Validator(SEARCH).is_valid(given)
    infinite = any(isinstance(value, float) and value - value != 0 for value in given.values())
    assert (refusal(SEARCH, given) == "") == (fits and not infinite)


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS.keys())
def test_every_tool_says_what_it_takes_and_gives(tool) -> None:
    for schema in (tool.takes, tool.gives):
        Draft202012Validator.check_schema(schema)
    assert tool.takes["additionalProperties"] is False
    for name, one in tool.takes["properties"].items():
        assert one["description"], name
        bounds = {"string": {"enum"} if "enum" in one else {"maxLength"}, "array": {"maxItems", "items"}}
        bounds |= {kind: {"minimum", "maximum"} for kind in ("integer", "number")}
        assert bounds.get(one["type"], set()) <= one.keys(), name
    assert len(tool.description) > 60
