import pytest

from bankml.documents.extract import extract
from tests.documents.soundness import assert_sound, shown

PYTHON = '''"""Doc."""
import os

# Above f.
@cached
def f(a,
      b):
    return a

# Above X.
X = 1

class A(B):
    y = 1

    # Above m.
    def m(self):
        def inner(): pass

    async def n(self): pass

if X:
    f()
'''
C = """#include <x.h>

/* Adds
 * two. */
int add(int a, int b)
{
    return a + b;
}

static int y;
struct s {
  int a;
};
"""


def code(text, name):
    extracted = extract(name, text.encode())
    assert_sound(extracted)
    assert extracted.text == text
    assert extracted.type == "code"
    return shown(extracted)


def headings(text, name="a.py"):
    return [(level, line, words) for kind, level, line, words in code(text, name) if kind == "heading"]


def test_python_has_the_names_that_enclose():
    assert headings(PYTHON) == [
        (1, 5, "@cached\ndef f(a,\n      b):"),
        (1, 9, "\n"),  # ends f, for the comment and for X
        (1, 13, "class A(B):"),
        (2, 17, "def m(self):"),
        (2, 20, "async def n(self): pass"),
        (1, 21, "\n"),
    ]


def test_other_languages_by_what_is_not_indented():
    assert headings(C, "a.c") == [(1, 5, "int add(int a, int b)"), (1, 9, "\n"), (1, 11, "struct s {")]
    assert [words for _, _, words in headings("pub fn f() {\n}\n\nimpl A {\n  fn g() {}\n}\n", "a.rs")] == [
        "pub fn f() {",
        "impl A {",
    ]
    assert headings('type = "x"\nmodule = [\n  1,\n]\n', "a.toml") == []
    assert headings("module.exports = x;\n", "a.js") == []
    assert headings("if (x) {\n  y();\n}\nfor (;;) {\n}\n", "a.js") == []


@pytest.mark.parametrize(
    "text",
    ["def f(:\n  pass\n\nx = 1\n", "-" * 100_000 + "1", "a." * 100_000 + "a", "lambda:" * 100_000, "x" * 2_000_000,
     "(" * 10_000, "if x: pass\n" + "elif x: pass\n" * 50_000, "'\\d'\n", "#\n" * 100_000 + "def f(): pass"],
)  # fmt: skip
def test_what_python_does_not_parse_is_code_all_the_same(text, recwarn):
    code(text, "a.py")
    assert not recwarn.list


def test_a_program_tells_its_encoding():
    extracted = extract("a.py", "# -*- coding: koi8-r -*-\nx = 'привет'\n".encode("koi8-r"))
    assert "привет" in extracted.text
