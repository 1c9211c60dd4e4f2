"""The comments of a YAML text, which PyYAML reads over: what stands between its tokens, or behind `|` and `>`."""

import re

import yaml

from bankml.library.model.strict_yaml import StrictLoader

COMMENT = re.compile(r"#[^\r\n\x85\u2028\u2029]*")
HEADER = re.compile(r"[^\r\n\x85\u2028\u2029]*?(?<=[ \t])(?=#)")  # of a block scalar, before its comment


def comments(text: str, start: int = 0, end: int | None = None) -> list[str]:
    """Those that begin within [start, end), in order. Raises yaml.YAMLError for what is no YAML."""
    found, at = list[re.Match[str]](), 0
    for token in yaml.scan(text, StrictLoader):
        found += COMMENT.finditer(text, at, max(at, token.start_mark.index))
        at = max(at, token.end_mark.index)
        if isinstance(token, yaml.ScalarToken) and token.style in ("|", ">"):
            found += _of_header(text, token.start_mark.index)
    return [one[0] for one in found if start <= one.start() < (len(text) if end is None else end)]


def _of_header(text: str, at: int) -> list[re.Match[str]]:
    before = HEADER.match(text, at)
    comment = before and COMMENT.match(text, before.end())
    return [comment] if comment else []
