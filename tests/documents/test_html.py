from html.parser import HTMLParser
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankml.documents.extract import extract
from bankml.documents.markup import tokens
from tests.documents.soundness import assert_sound, shown

PAGE = """<!doctype html>
<html><head><title>The &amp; title</title><style>p {}</style>
<script>if (a < b) "<p>no text</p>"</script></head>
<body><nav><ul><li><a href="/">Home</a></ul></nav>
<h1 class="a>b">Top <em>head</em>ing</h1>
<p>One &lt;b&gt; paragraph<br>of two
lines.</p>
<ul><li>a<ul><li>b</li></ul><li><p>c</p></ul>
<table><tr><th>A<th>B<tr><td>1<td><p>2</p></table>
<pre>  code
   more</pre>
tail <!-- <p>not this</p> -->
<footer>Imprint</footer></body></html>"""


def html(text):
    extracted = extract("a.html", text.encode())
    assert_sound(extracted)
    return extracted


def texts(text):
    return [words for _, _, _, words in shown(html(text))]


def test_what_a_reader_sees_and_the_lines_of_the_source():
    extracted = html(PAGE)
    assert extracted.title == "The & title"
    assert shown(extracted) == [
        ("heading", 1, 5, "Top heading"),
        ("paragraph", 0, 6, "One <b> paragraph\nof two lines."),
        ("list", 0, 8, "- a\n- b\n- c"),
        ("table", 0, 9, "A | B\n1 | 2"),
        ("code", 0, 10, "  code\n   more"),
        ("paragraph", 0, 12, "tail"),
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<nav>all there is</nav>", ["all there is"]),
        ("<nav>never ends<p>text</p>", ["never ends", "text"]),
        ("<p>a<script>never ends", ["a"]),
        ("<title>never ends<p>a", []),
        ("a < b > c <3 </3> d <", ["a < b > c <3 d <"]),
        ("cut off <a href='x", ["cut off <a href='x"]),
        ("<p>one<!-->two<!--->three<!-- a --!>four", ["onetwothreefour"]),
        ("<p><![CDATA[a<b>&amp;]]>", ["a<b>&amp;"]),
        ("&#xD800;&#" + "9" * 5000 + ";&eacute;&nosuch;", ["\ufffd\ufffdé&nosuch;"]),
        ('<a b="x>y">z</a><a b=\'">"\'>w</a><a b="open>v', ["zwv"]),
        ("<P>UP</P><SCRIPT>no</Script >yes", ["UP", "yes"]),
        ("<svg><title>no</title></svg><textarea><b>x</textarea>", ["<b>x"]),
        ("\x00<p>a", None),
    ],
)
def test_markup_of_all_sorts(text, found):
    if found is not None:
        assert texts(text) == found


@pytest.mark.parametrize(
    "marked",
    [
        "<div role=navigation>no<div>no</div></div>", '<form role="search">no</form>', "<p hidden>no</p>",
        '<i aria-hidden="true">no</i>', "<aside>no</aside>", '<a class="skip" href="#main">Skip to main content</a>',
        '<div class="related" role="navigation" aria-label="Related"><h3>no</h3></div>',
        '<div id="mdbook-help-container"><div><h2>Keyboard shortcuts</h2></div></div>',
        "<header role='Banner'>no</header>",
        '<div class="x navheader">no</div>', "<input hidden>",
        "<p>Next: <a>Types</a>, Up: <a>Using libffi</a> [<a>Index</a>]</p>", '<img alt="" hidden>',
    ],
)  # fmt: skip
def test_what_is_no_part_of_the_page_by_its_attributes(marked):
    assert texts(f"{marked}<h1>Title</h1><p>words") == ["Title", "words"]


@pytest.mark.parametrize(
    "marked",
    ["<p title=' hidden role=search'>yes</p>", '<p hidden="until-found">yes</p>', "<main><aside>yes</aside></main>",
     "<p role=main>yes</p>", "<p>yes", "<div role=search>yes"],
)  # fmt: skip
def test_what_is_part_of_it(marked):
    assert texts(marked) == ["yes"]


def test_pictures_are_told_by_their_descriptions():
    assert texts('<p>See <img src="x" alt="the Tower &amp; river"> here.<p><img alt="Map"><img>') == [
        "See the Tower & river here.",
        "Map",
    ]


@pytest.mark.parametrize(
    "heading",
    ["Use of C#", "Use of C#<a class='headerlink'>¶</a>", "Use of C#¶", "Use of C# §",
     "<a class=doc-anchor>§</a>Use of C#",
     "<a href='#x'># </a>Use of C#",
     "Use of C# <a href='#x'>#</a>", "Use of C#\U0001f517"],
)  # fmt: skip
def test_links_of_a_heading_to_itself_are_none_of_it(heading):
    extracted = html(f"<title>{heading if '<' not in heading else ''}</title><h2>{heading}</h2>")
    assert (extracted.title, extracted.text) == ("Use of C#", "Use of C#")


@pytest.mark.parametrize(
    "unit",
    ["<a ", "<div>", "<div hidden>", "<p role='x", "<b a='x' hidden='", "<aside>",
     "<b></i>", '<a b="', "<", "&amp", "<!--", "<title>", "<script>", "<ul><li>", "<nav>x", "<![CDATA[",
     "<nav><footer><svg>", '=" ', "<a ='\"", "<textarea></textareax>", "</", "<table><td>", "<pre>"],
)  # fmt: skip
def test_the_time_is_linear_whatever_is_repeated(unit):
    short, long = (seconds(unit * (size // len(unit))) for size in (10_000, 80_000))
    assert long < 8 * 4 * short + 0.2, f"8 times the markup took {long / short:.0f} times as long"


def test_an_end_that_never_comes_is_looked_for_once():
    assert seconds("<title>" * 40_000) < 4 * seconds("<center>" * 40_000) + 0.2


def test_what_is_nested_beyond_any_tree_is_read():
    assert texts("<div>" * 30_000 + "deep" + "</div>" * 30_000 + "<p>after") == ["deep", "after"]


@given(st.lists(st.sampled_from(["<p>", "</p>", "<b a='x'>", "</b>", "<br/>", "<!-- c -->", "a ", "&amp;", "é", "\n"])))
def test_tokens_are_those_of_the_standard_library_where_markup_is_ordinary(parts):
    found = []
    for token in tokens("".join(parts)):
        found.append((token.tag, token.closes) if token.tag else token.text)
    expected = Expected()
    expected.feed("".join(parts))
    expected.close()
    assert joined(found) == joined(expected.found)


def joined(found):
    texts = [one if isinstance(one, str) else f"<{one}>" for one in found]
    return "".join(texts)


class Expected(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, False))

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, False))

    def handle_endtag(self, tag):
        self.found.append((tag, True))

    def handle_data(self, data):
        self.found.append(data)


def seconds(text):
    """Of this process's own work, whatever else the machine does."""
    before = process_time()
    html(text)
    return process_time() - before
