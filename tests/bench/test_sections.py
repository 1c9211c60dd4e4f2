"""What a section of the Debian FAQ becomes."""

from bench.sections import HEADING, _text

PAGE = """<html><head><style>p {color: red}</style></head><body><h1>Chapter 4</h1><p>contents</p>
<h2 class="title"><a id="a"></a>4.1. A title</h2><p>One\n  <em>two</em> &amp; three.</p><script>skip()</script>
<h3>4.1.1. Below</h3><p>More.</p></body></html>"""


def test_a_section_is_its_title_and_text() -> None:
    assert [_text(part) for part in HEADING.split(PAGE)[1:]] == ["4.1. A title One two & three.", "4.1.1. Below More."]
