import pytest

from bankml.documents.sections import title


@pytest.mark.parametrize(
    ("heading", "said"),
    [
        ("# [Intro](http://x)", "Intro"),
        ('## ![Logo](a.png "b") and [more][ref] {#id .x}', "Logo and more"),
        ("### The `--db` **option** and *others* <!-- x -->", "The --db option and others"),
        ('# <a name="x"></a>Names<br/>', "Names"),
        ("a * b * c, [x] and {y}, List<T> ```", "a * b * c, [x] and {y}, List<T> ```"),
        ("Setext `x`\n---", "Setext x"),
    ],
)
def test_marks_of_markdown_are_not_in_titles(heading, said):
    assert title(heading) == said


def test_in_code_they_mean_something():
    assert title("def f(a: dict[str](x), *b, *c): `x`", code=True) == "def f(a: dict[str](x), *b, *c): `x`"
