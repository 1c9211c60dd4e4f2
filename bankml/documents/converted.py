"""What a converter made of a document, Markdown, as blocks: their lines are not the document's."""

import re

from bankml.documents.assembly import Assembly
from bankml.documents.extracted import Extracted
from bankml.documents.markdown import markdown

SLIDE = re.compile(r"<!-- Slide number: (\d{1,6}) -->")
PICTURE = re.compile(r"!\[([^\]\n]{0,2000})\]\([^)\n]{0,2000}\)")


def converted(kind: str, name: str, text: str) -> Extracted:
    """With the pages that its comments tell, and of pictures their descriptions alone."""
    source = markdown(name, PICTURE.sub(r"\1", text.replace("\r\n", "\n")), (), comments=True)
    assembly, page = Assembly(), None
    for block in source.blocks:
        words = source.text[block.start : block.end]
        if found := SLIDE.match(words):
            page, words = int(found.group(1)), words[found.end() :]
        assembly.add(words, block.kind, block.level, page=page)
    return assembly.extracted(kind, source.title, source.notes)
