"""Packages of a small FAQ in two languages, made as Debian makes them."""

import io
import lzma
import tarfile
from collections.abc import Mapping
from pathlib import Path

from bankml.evaluation import faq

ENGLISH = {
    "remove": ("How do I remove a package?", "The command purge deletes the files of an installed program."),
    "kernel": ("Which kernel does Debian use?", "Linux is at the heart, compiled by the kernel team."),
    "pronounce": ("How does one pronounce Debian?", "The name is said deb-ee-n, after Debra and Ian."),
    "mail": ("Where are the mailing lists?", "Write to the list server, which forwards letters to subscribers."),
    "apt": ("APT", "A tool that fetches programs over the network."),
}
GERMAN = {
    "remove": ("Wie entferne ich ein Paket?", "Der Befehl purge löscht die Dateien eines installierten Programms."),
    "kernel": ("Welchen Kernel verwendet Debian?", "Linux ist das Herz, übersetzt vom Kernel-Team."),
    "pronounce": ("Wie spricht man Debian aus?", "Der Name wird deb-i-en gesprochen, nach Debra und Ian."),
    "mail": ("Where are the mailing lists?", ENGLISH["mail"][1]),  # not translated
    "apt": ("APT", "Ein Werkzeug, das Programme über das Netz holt."),
}


def page(sections: Mapping[str, tuple[str, str]]) -> str:
    """A chapter as DocBook's stylesheets write it."""
    return (
        '<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><head><title>t'
        '</title><style type="text/css"> body { } </style></head><body><div class="navheader">Prev</div>'
        '<div class="chapter"><div class="titlepage"><h1 class="title"><a id="chapter"></a>Chapter 1. All</h1></div>'
        '<div class="toc"><dl><dt><a href="#x">1.1. What the chapter holds</a></dt></dl></div><p>Before.</p>'
        + "".join(
            f'<div class="section"><div class="titlepage"><div><div><h2 class="title"><a id="{id}"></a>1.{number}.'
            f"\N{NO-BREAK SPACE}{title}</h2></div></div></div><p>\n{text}\n</p></div>"
            for number, (id, (title, text)) in enumerate(sections.items(), 1)
        )
        + '</div><div class="navfooter">Next</div></body></html>'
    )


def archive(files: Mapping[str, bytes]) -> bytes:
    """data.tar with these files."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as target:
        for name, content in files.items():
            member = tarfile.TarInfo(f"./{name}")
            member.size = len(content)
            target.addfile(member, io.BytesIO(content))
    return tar.getvalue()


def ar(members: Mapping[str, bytes]) -> bytes:
    """A .deb of these members."""
    parts = [b"!<arch>\n"]
    for name, content in members.items():
        parts += [f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode(), content]
        parts.append(b"\n" * (len(content) % 2))
    return b"".join(parts)


def deb(pages: Mapping[str, str]) -> bytes:
    """A package with pages by their path."""
    data = lzma.compress(archive({name: text.encode() for name, text in pages.items()}))
    return ar({"debian-binary": b"2.0\n", "control.tar.xz": b"odd", "data.tar.xz": data})


def packages(folder: Path) -> Path:
    """The folder, with the packages of both languages in it."""
    folder.mkdir(parents=True, exist_ok=True)
    for code, sections in (("en", ENGLISH), ("de", GERMAN)):
        path = f"{faq.PAGES}chapter.{code}.html"
        (folder / faq.file_name(code)).write_bytes(deb({path: page(sections)}))
    return folder
