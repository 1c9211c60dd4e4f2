"""What of a query names something exactly."""

from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankml.memory.recall.identifiers import LONGEST, MOST, READ, Identifiers
from tests.memory.remembered import record


def test_what_looks_like_an_identifier() -> None:
    found = Identifiers.of(
        'How does (src/Auth.py:12) use "BANKML_HOME", e.g. in v1.2 or well-known C++? See ab. and a/b.'
    )
    assert found.terms == ("src/auth.py:12", "bankml_home", "e.g", "v1.2", "well-known", "a/b")
    assert Identifiers.of("How do tokens expire? When they are old.").terms == ()
    assert not Identifiers.of("how do tokens expire")


@pytest.mark.parametrize("query", ["a.", "-", "--", ".", "a_", "-a", "---"])
def test_what_is_too_short_or_has_nothing_but_marks(query: str) -> None:
    assert not Identifiers.of(query)


def test_ids_are_whole_or_begin_with_eight_digits() -> None:
    whole = "rec_0123456789abcdef"
    assert Identifiers.of(f"what about {whole}?").ids == (whole,)
    assert Identifiers.of(f"{whole.upper()}, rec_01234567").ids == (whole, "rec_01234567")
    for other in ("rec_0123456", "rec_0123456789abcdef0", "xrec_01234567", "rec_0123456g", "rec_01234567-a"):
        assert Identifiers.of(other).ids == ()


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("src/auth/token.py", "src/auth/token.py"),
        ("in SRC/auth/Token.PY, I think", "src/auth/token.py"),
        ("token.py", "src/auth/token.py"),
        ("auth/token.py:12:3", "src/auth/token.py"),
        ("./src/auth/token.py", "src/auth/token.py"),
        ("../auth/token.py", "src/auth/token.py"),
        ("src\\auth\\token.py", "src/auth/token.py"),
        ("/home/me/repo/src/auth/token.py", "src/auth/token.py"),
        ("see `Makefile`", "Makefile"),
        ("docs/größe.md", "docs/größe.md"),
        ("docs/GRÖSSE.md", "docs/größe.md"),
        (".env-example", ".env-example"),
    ],
)
def test_a_cited_file_is_named(query: str, path: str) -> None:
    assert Identifiers.of(query).named(record(1, "x", "y", path, root=b"/home/me/repo"))


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("oken.py", "src/auth/token.py"),
        ("other/token.py", "src/auth/token.py"),
        ("/elsewhere/src/auth/token.py", "src/auth/token.py"),
        ("token.pyc", "src/auth/token.py"),
        ("token", "src/auth/token"),
        ("makefile", "Makefile"),
        ("License", "LICENSE"),
        ("src/auth", "src/auth/token.py"),
    ],
)
def test_another_file_is_not(query: str, path: str) -> None:
    assert not Identifiers.of(query).named(record(1, "x", "y", path, root=b"/home/me/repo"))


@pytest.mark.parametrize(
    ("query", "content"),
    [
        ("symbol://src/a.py#login", "The entry is symbol://src/a.py#login."),
        ("where is symbol://src/a.py#Login?", "(symbol://src/a.py#login)"),
        ("token.py", "See src/auth/token.py."),
        ("token.py", "token.py\nis one"),
        ("https://example.com/a", "at https://example.com/a/b"),
        ("./run", "start ./run or run"),
        ("/etc/hosts", "names in /etc/hosts"),
        ("bankml.memory.recall", "`bankml.memory.recall` ranks"),
    ],
)
def test_a_text_holds_what_is_named(query: str, content: str) -> None:
    assert Identifiers.of(query).named(record(1, "x", content))


@pytest.mark.parametrize(
    ("query", "content"),
    [
        ("symbol://src/a.py#login", "symbol://src/a.py#login_user"),
        ("token.py", "my-token.py mytoken.py token.pyc token.py.bak"),
        ("and/or", "this and/or that"),
        ("client/server", "a client/server pair"),
        ("well-known", "a well-known thing"),
        ("e.g. this", "e.g. that"),
        ("v1.2", "v1.2"),
    ],
)
def test_a_text_does_not(query: str, content: str) -> None:
    assert not Identifiers.of(query).named(record(1, "x", content))


def test_missed_where_none_of_the_terms_is_anywhere() -> None:
    asked = Identifiers.of("BANKML_HOME or v1.2")
    assert asked.missed(record(1, "x", "nothing"))
    assert not asked.missed(record(1, "x", "set bankml_home"))
    assert not asked.missed(record(1, "x", "y", "docs/v1.2/a.md"))
    assert not asked.missed(record(1, "x", "y", tags=("v1.2",)))
    assert not Identifiers.of("no identifier").missed(record(1, "x", "nothing"))


@given(st.text(max_size=80) | st.text("abc./:#_-\\ \n\0", max_size=80))
def test_any_query_is_taken_apart(query: str) -> None:
    found = Identifiers.of(query)
    one = record(1, query, query, query.encode("utf-8", "replace"), root=b"\xff/")
    found.named(one)
    found.missed(one)


@pytest.mark.parametrize("part", ["a.", "a/", "./", "rec_", "a:", "symbol://", "a" * 300 + ".py ", "a.b ", "((", "é/"])
def test_a_hostile_query_takes_no_time(part: str) -> None:
    query = part * 100_000
    started = perf_counter()
    found = Identifiers.of(query)
    found.named(record(1, query[:100_000], query[:100_000]))
    assert perf_counter() - started < 5
    assert all(len(some) <= MOST for some in (found.terms, found.ids, found.names, found.literals))
    assert all(len(term) <= LONGEST for term in found.terms)


def test_of_a_huge_record_the_first_is_read_once() -> None:
    """16 records of 1 MB and 32 terms took 28 s."""
    asked = Identifiers.of(" ".join(f"src/part{n}/a{n}.py" for n in range(MOST)))
    huge = [record(n, "x", "Src/part a.py " * 75_000) for n in range(4)]
    started = perf_counter()
    for one in huge:
        one.text.casefold()
    once = perf_counter() - started
    started = perf_counter()
    assert not any(asked.named(one) for one in huge)
    assert perf_counter() - started < 100 * once  # 750 times, before
    assert asked.named(record(1, "x", "a" * (READ - 30) + " src/part3/a3.py"))
    assert not asked.named(record(1, "x", "a" * READ + " src/part3/a3.py"))
