"""config.yaml is changed where it must be, and nowhere else."""

import os
import re
import threading
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bankml.errors import Error, InputError, StoreError
from bankml.library.model.configuration import CHECKS, Configuration
from bankml.library.model.configure import change, parsed, said

PRESET, MODEL, ENABLED = "search.vector.preset", "search.vector.model", "search.vector.enabled"


def written(folder: Path, content: str, values: dict[str, object]) -> str:
    """What the file says afterwards."""
    (folder / "config.yaml").write_bytes(content.encode())
    change(folder / "kb.db", values)
    return (folder / "config.yaml").read_bytes().decode()


@pytest.mark.parametrize(
    ("before", "values", "after"),
    [
        ("", {PRESET: "bge-m3"}, "search:\n  vector:\n    preset: bge-m3\n"),
        ("# hi", {"chunk_tokens": 128}, "# hi\nchunk_tokens: 128\n"),
        ("\ufeff", {"model": "x"}, "\ufeffmodel: x\n"),
        ("---\nmodel: x\n...\n", {"chunk_tokens": 128}, "---\nmodel: x\nchunk_tokens: 128\n...\n"),
        ("model: x # why\n# tail\n", {"model": "y"}, "model: y # why\n# tail\n"),
        ("model: x # why\n# tail\n", {"model": None}, "# why\n# tail\n"),
        ("model:   'a b'   # why", {"model": "hf:a/b"}, 'model:   "hf:a/b"   # why'),
        ("model: # none yet\n", {"model": "x"}, "model: x # none yet\n"),
        ("model: ~", {"model": "x"}, "model: x"),
        ("query_prefix: |\n  a\n  b\n\n# c\nmodel: x", {"query_prefix": "q: "}, 'query_prefix: "q: "\n\n# c\nmodel: x'),
        ("model: x\r\n# c\r\n", {ENABLED: False}, "model: x\r\nsearch:\r\n  vector:\r\n    enabled: false\r\n# c\r\n"),
        ("model: x # c\r\n# d\r\n", {"model": None}, "# c\r\n# d\r\n"),
        ("{model: x}  # c\n", {PRESET: "custom"}, "{search: {vector: {preset: custom}}, model: x}  # c\n"),
        ("{model: x, chunk_tokens: 99} # c", {"model": None}, "{model: null, chunk_tokens: 99} # c"),
        ("search:\n# c\n", {PRESET: "custom"}, "search: {vector: {preset: custom}}\n# c\n"),
        ("search: {vector: {}}", {MODEL: "x"}, "search: {vector: {model: x}}"),
        ("search.vector.preset: bge-m3 # c\n", {PRESET: "custom"}, "search.vector.preset: custom # c\n"),
        ("search: # a\n  vector: # b\n    model: x # c\n", {MODEL: None}, "search: # a\n  vector: # b\n    # c\n"),
        ("search:\n  vector:\n    model: x\n# c\nmodel: y\n", {MODEL: None}, "# c\nmodel: y\n"),
        (
            "search:\n    vector:\n        enabled: true   # on\n        # deep\n# end\n",
            {PRESET: "bge-m3"},
            "search:\n    vector:\n        enabled: true   # on\n        preset: bge-m3\n        # deep\n# end\n",
        ),
        ("model:  # of Eve\n  x\nchunk_tokens: 99\n", {"model": None}, "# of Eve\nchunk_tokens: 99\n"),
        ("model:  # of Eve\n  x # b\n", {"model": "y"}, "model:  # of Eve\n  y # b\n"),
        ("model:\r\n  # of Eve\r\n  x # b\r\n", {"model": None}, "# of Eve\r\n# b\r\n"),
        ("model:\n# of Eve\n  x", {"model": None}, "# of Eve"),
        ("search:\n  vector:\n    model: # a\n      x\n", {MODEL: None}, "search:\n  vector:\n    # a\n"),
        (
            "query_prefix: |  # of Eve\n  a\n\nmodel: x\n",
            {"query_prefix": "q"},
            "query_prefix: q  # of Eve\n\nmodel: x\n",
        ),
        ("query_prefix: >-  # of Eve\n  a #b\n  # c", {"query_prefix": "q"}, "query_prefix: q  # of Eve"),
        ("query_prefix: |2-  # of Eve\n  a\n\nmodel: x\n", {"query_prefix": None}, "# of Eve\nmodel: x\n"),
        ("model: [a, # why\n  b]\n", {"model": None}, "# why\n"),
        ("model: x\n", {"model": "x"}, "model: x\n"),
        ("# c\n", {"model": None}, "# c\n"),
        ("", {"document_prefix": "a\n\u20282 😀\t"}, 'document_prefix: "a\\n\\L2 \\U0001F600\\t"\n'),
        ("", {"model": "true"}, 'model: "true"\n'),
        ("", {"query_prefix": ""}, 'query_prefix: ""\n'),
    ],
)
def test_only_the_value_changes(tmp_path: Path, before: str, values: dict[str, object], after: str) -> None:
    assert written(tmp_path, before, values) == after
    found = Configuration.read(tmp_path / "kb.db").said
    assert {key: found[key] for key in values} == values


@pytest.mark.parametrize(
    ("before", "values", "says"),
    [
        ("", {"chunk_tokens": "many"}, "chunk_tokens is 'many': make it a whole number"),
        ("", {"chunk_tokens": 63}, "chunk_tokens is 63"),
        ("chunk_overlap: 100\n", {"chunk_tokens": 128}, "chunk_overlap is 100, more than half of chunk_tokens, 128"),
        ("", {ENABLED: "maybe"}, "search.vector.enabled is 'maybe': make it true or false"),
        ("", {PRESET: "bge"}, "search.vector.preset is 'bge': make it all-minilm-l6-v2"),
        ("", {PRESET: "arctic-embed-m-v2"}, "needs support of the engine"),
        ("", {"model": " "}, "make it a model's name"),
        ("", {"model": "a\ud800"}, "half of a surrogate pair"),
        ("", {"query_prefix": "x" * 1001}, "at most 1,000 characters"),
        ("modell: x\n", {"model": "x"}, "'modell' is no setting"),
        ("model: 'x\n", {"model": "x"}, "no YAML"),
        ("model: x\nmodel: y\n", {"model": "x"}, "stands twice"),
        ("? model\n: x\n", {"chunk_tokens": 128, "model": "z"}, "change it by hand"),
        ("model: [a, # why\n  b]\n", {"model": "x"}, "change it by hand"),
        ("{model: [a, # why\n  b]}\n", {"model": None}, "change it by hand"),
        (f"# {'x' * 8180}\n", {"model": "bge-m3"}, "more than 8,192 bytes"),
    ],
)
def test_what_would_be_refused_is_not_written(
    tmp_path: Path, before: str, values: dict[str, object], says: str
) -> None:
    (tmp_path / "config.yaml").write_text(before)
    with pytest.raises(StoreError) as caught:
        change(tmp_path / "kb.db", values)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert (tmp_path / "config.yaml").read_text() == before
    assert sorted(os.listdir(tmp_path)) in (["config.yaml"], [".config.yaml.lock", "config.yaml"])


def test_a_wrong_value_can_be_taken_out(tmp_path: Path) -> None:
    text = "search: {vector: {preset: gone}} # c\nchunk_tokens: 1\n"
    assert written(tmp_path, text, {PRESET: None, "chunk_tokens": None}).count("# c") == 1
    assert Configuration.read(tmp_path / "kb.db").preset is None


def test_keys_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'search\.vector' is no setting .* search\.vector\.preset"):
        change(tmp_path / "kb.db", {"search.vector": "x"})
    assert not (tmp_path / "config.yaml").exists()


def test_a_link_stays_one_and_modes_too(tmp_path: Path) -> None:
    real = tmp_path / "elsewhere" / "mine.yaml"
    real.parent.mkdir()
    real.write_text("model: x\n")
    real.chmod(0o640)
    (tmp_path / "config.yaml").symlink_to(real)
    change(tmp_path / "kb.db", {"model": "y"})
    assert (tmp_path / "config.yaml").is_symlink()
    assert (real.read_text(), real.stat().st_mode & 0o777) == ("model: y\n", 0o640)


def test_a_folder_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").mkdir()
    with pytest.raises(StoreError, match="cannot be read"):
        change(tmp_path / "kb.db", {"model": "y"})
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot be (read|written)"):
        change(tmp_path / "file" / "kb.db", {"model": "y"})


def test_a_folder_that_is_not_there_is_made(tmp_path: Path) -> None:
    assert change(tmp_path / "new" / "kb.db", {PRESET: "bge-m3"}).preset == "bge-m3"


def test_many_at_once_lose_nothing(tmp_path: Path) -> None:
    values = {"model": "x", "query_prefix": "q", "document_prefix": "d", "chunk_tokens": 128, "chunk_overlap": 8}
    threads = [
        threading.Thread(target=change, args=(tmp_path / "kb.db", {key: value})) for key, value in values.items()
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said(tmp_path / "kb.db") == values


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        (ENABLED, "Off", False),
        (ENABLED, "1", True),
        (ENABLED, "maybe", "maybe"),
        ("chunk_tokens", " 128 ", 128),
        ("chunk_tokens", "1_0", "1_0"),
        ("chunk_tokens", "٣", "٣"),
        ("chunk_tokens", "9" * 5000, "9" * 5000),
        ("model", "1", "1"),
        ("query_prefix", "true", "true"),
    ],
)
def test_what_is_typed(key: str, text: str, value: object) -> None:
    assert parsed(key, text) == value


@pytest.mark.parametrize("key", ["model", MODEL])
def test_a_path_holds_in_every_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/eve")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "model").write_bytes(b"")
    for typed in ("./y.gguf", "y.gguf", " own/../y.gguf "):
        assert parsed(key, typed) == str(tmp_path / "y.gguf")
    assert parsed(key, "own/model") == str(tmp_path / "own" / "model")
    assert parsed(key, "~/y.gguf") == "/home/eve/y.gguf"
    for name in ("BAAI/bge-m3", "hf:a/b/c.gguf", "e5-small", "x:latest"):
        assert parsed(key, name) == name
    assert parsed("query_prefix", "./y.gguf") == "./y.gguf"


VALUES = {
    "model": st.text(min_size=1, max_size=12),
    "query_prefix": st.text(max_size=12),
    "document_prefix": st.text(max_size=12),
    "chunk_tokens": st.integers(0, 9000),
    "chunk_overlap": st.integers(0, 40),
    ENABLED: st.booleans(),
    PRESET: st.sampled_from(["bge-m3", "custom", "granite-small-r2", "x"]),
    MODEL: st.text(min_size=1, max_size=12),
    "search.vector.pooling": st.sampled_from(["mean", "cls", "none"]),
}
CHANGES = st.sampled_from(list(CHECKS)).flatmap(lambda key: st.tuples(st.just(key), st.none() | VALUES[key]))
COMMENT = st.sampled_from(["", "# a b", "#c: d", "# '\"{[", "# é"])


@st.composite
def files(draw: st.DrawFn) -> str:
    """As people write them: in blocks or in braces, with comments, blank lines and odd spaces."""
    flow, ending = draw(st.booleans()), draw(st.sampled_from(["\n", "\r\n"]))
    lines: list[str] = []

    def line(text: str) -> None:
        comment = draw(COMMENT)
        lines.append(f"{text}{' ' * draw(st.integers(1, 3)) if text else ''}{comment}" if comment else text)
        lines.extend(draw(st.lists(st.sampled_from(["", "# between", "  # indented"]), max_size=2)))

    line("")
    for key in draw(st.lists(st.sampled_from([key for key in VALUES if "." not in key]), unique=True)):
        value = draw(VALUES[key])
        shown = yaml.safe_dump(value, default_style='"', width=9999).strip() if draw(st.booleans()) else "12"
        shape = draw(st.sampled_from(["beside", "below", "block"]))
        if shape == "block":
            lines.extend([f"{key}: {draw(st.sampled_from(['|', '>-', '|2+']))} {draw(COMMENT)}", "  a", "", "  b"])
        else:
            line(f"{key}: {shown}" if shape == "beside" else f"{key}:")
            line(f"  {shown}" if shape == "below" else "")
    inner = draw(st.lists(st.sampled_from(["enabled: true", "preset: custom", "model: m"]), unique=True))
    if flow:
        line(f"search: {{vector: {{{', '.join(inner)}}}}}")
    else:
        line("search:")
        line("   vector:")
        for each in inner:
            line(f"     {each}")
    return ending.join(lines) + draw(st.sampled_from(["", ending]))


def refusal(folder: Path, key: str, value: object) -> str:
    """Why it is not changed; "" where it was."""
    try:
        change(folder / "kb.db", {key: value})
    except Error as error:
        return str(error)
    return ""


def comments(text: str) -> list[str]:
    """All of them: no value of `files` holds a #, but in quotes."""
    found = [re.sub(r'"(\\.|[^"\\])*"', "", line) for line in text.splitlines()]
    return sorted(line[line.index("#") :] for line in found if "#" in line)


@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files(), st.lists(CHANGES, min_size=1, max_size=4))
def test_any_file_and_any_change(tmp_path: Path, before: str, changes: list[tuple[str, object]]) -> None:
    """What is asked for is there, what was there stays, comments too; or nothing is written, for a reason."""
    path = tmp_path / "config.yaml"
    path.write_bytes(before.encode())
    for key, value in changes:
        was, text = said(tmp_path / "kb.db"), path.read_bytes().decode()
        if why := refusal(tmp_path, key, value):
            swallowed = "  # indented" in text and re.search(
                r": (\||>)", text
            )  # by the block before, were the key gone
            assert swallowed or "by hand" not in why, (text, key, value)
            assert path.read_bytes().decode() == text
            continue
        wanted = {one: kept for one, kept in {**was, key: value}.items() if kept is not None}
        assert said(tmp_path / "kb.db") == wanted
        assert comments(path.read_bytes().decode()) == comments(text)


@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text("abmodel_:-[]{}&*!<>|'\"#%?,\n \t~0x", max_size=60) | st.binary(max_size=40), CHANGES)
def test_any_bytes(tmp_path: Path, before: str | bytes, changed: tuple[str, object]) -> None:
    path = tmp_path / "config.yaml"
    path.write_bytes(content := before if isinstance(before, bytes) else before.encode())
    key, value = changed
    with suppress(StoreError):
        was = said(tmp_path / "kb.db")
    if why := refusal(tmp_path, key, value):
        assert "\n" not in why
        assert path.read_bytes() == content
        return
    assert said(tmp_path / "kb.db") == {one: kept for one, kept in {**was, key: value}.items() if kept is not None}
