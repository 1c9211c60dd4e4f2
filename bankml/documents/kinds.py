"""What kind of document a file is: by its content where that tells it, else by its name, else by how it begins."""

import re
from pathlib import PurePath

from bankml.documents.archive import entries
from bankml.documents.decoding import is_binary
from bankml.errors import DocumentError

SUFFIXES = {
    "text": "txt text log me asc",
    "rst": "rst rest",
    "markdown": "md markdown mdown mkd mkdn mdx qmd rmd",
    "html": "html htm xhtml shtml",
    "json": "json geojson webmanifest har",
    "jsonl": "jsonl ndjson ldjson",
    "notebook": "ipynb",
    "csv": "csv tsv tab",
    "code": "py pyi pyw pyx pxd c h cc cpp cxx hpp hh hxx cu cuh m mm java kt kts scala groovy gradle js jsx mjs cjs "
    "ts tsx mts cts vue svelte go rs rb php pl pm lua r jl cs fs fsx vb swift dart ex exs erl hrl hs lhs ml "
    "mli clj cljs cljc lisp el scm rkt sh bash zsh fish ps1 bat cmd awk sed sql proto thrift graphql gql tf "
    "hcl nix cmake mk make dockerfile css scss sass less asm s v sv vhd vhdl f f90 f95 for pas ada adb ads d "
    "nim zig cr sol ini cfg conf toml yaml yml properties env xml xsd xsl svg tex bib",
}
KINDS = {suffix: kind for kind, suffixes in SUFFIXES.items() for suffix in suffixes.split()}
NAMES = {"makefile": "code", "dockerfile": "code", "containerfile": "code", "rakefile": "code", "gemfile": "code"}
SNIFFED = 4096  # bytes
HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*+(?:<\?xml[^>]*+>\s*+)?(?:<!--.*?-->\s*+)*+<(?:!doctype html|html|head|body)\b", re.I | re.S
)
JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*+(?:\{\s*+[\"}]|\[\s*+[\[{\"\]\d-])")
PDF = re.compile(rb"(?:\xef\xbb\xbf)?\s*+%PDF-\d")
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
OFFICE = {"word/": "docx", "ppt/": "pptx", "xl/": "xlsx"}


def kind(name: str, content: bytes) -> str:
    """The type of `Extracted`. Raises DocumentError for what has no text that could be read."""
    head = content[:SNIFFED]
    path = PurePath(name.lower())
    suffix = path.suffix[1:]
    if PDF.match(head) or (suffix == "pdf" and content):
        return "pdf"
    if content.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _packed(content)
    if content.startswith(OLE):
        raise DocumentError("is an Office file of before 2007 or one with a password: save it as .docx, .xlsx or .pptx")
    if is_binary(content):
        raise DocumentError("looks binary, and is of no kind whose text can be read: leave it out")
    return KINDS.get(suffix) or NAMES.get(path.name) or _sniffed(head, path.name)


def _sniffed(head: bytes, name: str) -> str:
    if HTML.match(head):
        return "html"
    if head.startswith(b"#!"):
        return "code"
    return "json" if JSON.match(head) else "text"


def _packed(content: bytes) -> str:
    """Which document this archive is."""
    names = entries(content)
    for name in names:
        if found := next((kind for folder, kind in OFFICE.items() if name.startswith(folder)), None):
            return found
    if "META-INF/container.xml" in names:
        return "epub"
    raise DocumentError("is an archive: unpack it and add its files")
