from bankml.documents.extract import extract
from bankml.documents.markdown import PARSED
from tests.documents.soundness import assert_sound, shown

TEXT = """---
title: "My notes"
---
# Top

A *paragraph*
of two lines.

- one
  # no heading of the document
- two

```sh
# nor this
```

| a | b |
|---|---|
| 1 | 2 |

[link]: http://example.org

Below
-----
> quoted
"""


def test_blocks_are_the_sources_own_text():
    for ends in ("\n", "\r\n"):
        extracted = extract("a.md", TEXT.replace("\n", ends).encode())
        assert_sound(extracted)
        assert extracted.text == TEXT.replace("\n", ends)
        assert extracted.title == "My notes"
        assert [(kind, level, line) for kind, level, line, _ in shown(extracted)] == [
            ("code", 0, 1),
            ("heading", 1, 4),
            ("paragraph", 0, 6),
            ("list", 0, 9),
            ("code", 0, 13),
            ("table", 0, 17),
            ("paragraph", 0, 21),
            ("heading", 2, 23),
            ("paragraph", 0, 25),
        ]


def test_what_is_too_long_for_the_parser_still_has_its_headings():
    extracted = extract("a.md", b"# One\n\n" + b"words and words\n" * (PARSED // 16 + 1) + b"\n## Two\nend\n")
    assert_sound(extracted)
    assert [block.level for block in extracted.blocks] == [1, 0, 2, 0]
    assert "its headings alone" in extracted.notes[0]


def test_nesting_without_end():
    for text in (">" * 100_000, "- " * 100_000, "[" * 100_000, "".join(" " * 2 * n + "- a\n" for n in range(300))):
        assert_sound(extract("a.md", text.encode()))


def test_comments_of_html_are_blank_and_change_no_line():
    text = (
        "<!-- one\n\ntwo -->\n# Top\n\n<!-- é --> <b>kept</b>\n\n`<!-- code -->`\n\n```\n<!-- code -->\n```\n<!-- open"
    )
    extracted = extract("a.md", text.encode())
    assert_sound(extracted)
    assert len(extracted.text) == len(text)
    assert [(line, words) for _, _, line, words in shown(extracted)] == [
        (4, "# Top"),
        (6, "<b>kept</b>"),
        (8, "`<!-- code -->`"),
        (10, "```\n<!-- code -->\n```"),
    ]
