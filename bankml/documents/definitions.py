"""Where the definitions of a program are: in Python by its own parser, else by what is not indented."""

import ast
import re
import threading
import warnings
from collections.abc import Iterator, Sequence
from typing import NamedTuple

PARSED = 1 << 20  # characters: a syntax tree takes a hundred times its text
# How a definition begins: with its keyword, or as C and its kin begin a function.
KEYWORD = re.compile(
    r"(?:(?:export|default|public|private|protected|internal|static|final|abstract|sealed|open|async|pub(?:\([^)\n]{0,40}\))?"
    r"|unsafe|extern(?: \"C\")?|inline|constexpr|partial|data|case|local|declare)[ \t]+){0,8}"
    r"(?:class|struct|interface|enum|union|trait|impl|fn|func|function|fun|def|defp|defmodule|module|namespace|object"
    r"|protocol|extension|sub|procedure|macro_rules!|template|typedef|type|CREATE|create)\b(?![ \t]*[=:.,;)\]])"
)
FUNCTION = re.compile(
    r"(?!(?:if|elif|else|for|foreach|while|until|switch|return|do|try|catch|using|with|assert|print|echo|defer)\b)"
    r"[A-Za-z_][\w:<>,*&~ \t]{0,200}+\([^;\n]*$",
    re.MULTILINE,
)
COMMENT = re.compile(r"//|/\*|[ \t]*\*|#(?![ \t]*(?:include|define|if|endif|else|pragma|import))|--|;;|%|@|\[")
GOES_ON = re.compile(r"[\s})\]{]|(?:end|else|elif|elsif|except|finally|catch|then|do|done|fi|esac|in)\b|$")
LONGEST = 1000  # characters of a line that may begin a definition
DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
LINES = 4  # of a signature with its decorators that are a heading

_quiet = threading.Lock()  # the filters of warnings are the program's


class Definition(NamedTuple):
    """Lines `first` to `last` are the heading of what follows; none: there ends what stands under that level."""

    first: int
    last: int
    level: int


def in_python(text: str, at: Sequence[int]) -> list[Definition] | None:
    """Classes, functions and methods; None where Python cannot parse the text. `at`: where its lines begin."""
    if len(text) > PARSED:
        return None
    try:
        with _quiet, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return list(_inside(ast.parse(text).body, 1, text, at))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _inside(body: Sequence[ast.stmt], level: int, text: str, at: Sequence[int]) -> Iterator[Definition]:
    """Of a module or a class; the parser refuses more than a hundred indentations."""
    open = False
    for node in body:
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))]) - 1
        above = first
        while above and text[at[above - 1] : at[above]].lstrip().startswith("#"):
            above -= 1
        defines = isinstance(node, DEFINES)
        if open and (not defines or above < first):
            yield Definition(above, above, level)
        if isinstance(node, DEFINES):
            last = max(node.lineno, node.body[0].lineno - 1)
            yield Definition(first, last if last - first <= LINES else first + 1, level)
        if isinstance(node, ast.ClassDef):
            yield from _inside(node.body, level + 1, text, at)
        open = defines


def by_indentation(text: str, at: Sequence[int]) -> Iterator[Definition]:
    """Of any language whose definitions begin at the left margin. `at`: where lines begin."""
    comment: int | None = None  # where the comment begins that stands above this line
    open = False
    for line in range(len(at) - 1):
        start, end = at[line], min(at[line + 1], at[line] + LONGEST)
        if COMMENT.match(text, start, end):
            comment = line if comment is None else comment
        elif GOES_ON.match(text, start, end):
            comment = None if text[start:end].isspace() or not text[start].isspace() else comment
        else:
            defines = KEYWORD.match(text, start, end) or FUNCTION.match(text, start, end)
            above = line if comment is None else comment
            if open and (not defines or above < line):
                yield Definition(above, above, 1)
            if defines:
                yield Definition(line, line + 1, 1)
            open, comment = bool(defines), None
