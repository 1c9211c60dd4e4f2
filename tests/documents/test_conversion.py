import os
import signal
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from bankml.documents.conversion import Conversion
from bankml.documents.extract import extract
from bankml.documents.frames import received
from bankml.errors import DocumentError, InputError
from tests.documents import made

GOOD = made.pdf(["Hello"])


def slow(times):
    """A page of so many words, of which pypdf reads some hundred thousand a second."""
    packed = zlib.compress(b"BT /F1 12 Tf " + b"(a) Tj 0 -1 Td " * times + b"ET")
    return made.raw_pdf(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
            b"<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream" % (len(packed), packed),
            b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        ]
    )


@pytest.fixture
def conversion(request):
    made = Conversion(**getattr(request, "param", {}))
    yield made
    made.close()


@pytest.mark.parametrize("conversion", [{"seconds": 1}], indirect=True)
def test_what_takes_too_long_costs_itself_alone(conversion):
    with pytest.raises(DocumentError, match="takes more than 2 s to read"):
        conversion.convert("pdf", "a.pdf", slow(2_000_000))
    assert conversion.convert("pdf", "a.pdf", GOOD).text == "Hello"


@pytest.mark.parametrize("conversion", [{"memory": 64 << 20}], indirect=True)
def test_what_takes_too_much_memory_costs_itself_alone(conversion):
    with pytest.raises(DocumentError, match="takes more memory to read"):
        conversion.convert("pdf", "a.pdf", slow(400_000))
    assert conversion.convert("pdf", "a.pdf", GOOD).text == "Hello"


def test_one_process_reads_many_files_and_another_follows_it(conversion):
    assert conversion.convert("pdf", "a.pdf", GOOD).text == "Hello"
    first = conversion._process.pid
    assert conversion.convert("pdf", "a.pdf", GOOD).text == "Hello"
    assert conversion._process.pid == first
    os.kill(first, signal.SIGKILL)
    conversion._process.wait()
    assert conversion.convert("pdf", "a.pdf", GOOD).text == "Hello"


@pytest.fixture
def at_work(monkeypatch):
    """Set when a task was sent."""
    sent = Event()
    monkeypatch.setattr("bankml.documents.conversion.received", lambda stream: (sent.set(), received(stream))[1])
    return sent


@pytest.mark.parametrize("end", [lambda conversion: conversion._process.kill(), Conversion.close])
def test_a_process_that_is_ended_at_work_is_told_and_nobody_waits_for_its_answer(conversion, at_work, end):
    with ThreadPoolExecutor() as pool:
        answer = pool.submit(conversion.convert, "pdf", "a.pdf", slow(2_000_000))
        at_work.wait()
        end(conversion)
        with pytest.raises(DocumentError, match="ends the program that reads it"):
            answer.result()


def test_many_threads(conversion):
    names = [f"{number}.pdf" for number in range(20)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda name: conversion.convert("pdf", name, GOOD), names))
    assert [one.title for one in found] == names


def test_a_name_that_is_no_unicode(conversion):
    assert conversion.convert("pdf", "\udcff/\udcff.pdf", GOOD).title == "\ufffd.pdf"


def test_no_module_of_the_folder_that_is_read_is_run(tmp_path):
    for name in ("pypdf", "struct", "msgspec", "resource"):
        (tmp_path / f"{name}.py").write_text("open('ran', 'w')")
    (tmp_path / "a.pdf").write_bytes(GOOD)
    program = "from bankml.documents import extract; print(extract('a.pdf', open('a.pdf', 'rb').read()).text)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "Hello\n"
    assert done.stderr == ""
    assert not (tmp_path / "ran").exists()


def test_what_is_not_installed_is_one_sentence_with_the_command(monkeypatch):
    monkeypatch.setattr("bankml.documents.conversion.find_spec", lambda name: None)
    with pytest.raises(
        DocumentError, match=r"takes the package markitdown to read: run `.*pip install 'markitdown\[docx"
    ):
        extract("a.docx", made.docx(""))
    with pytest.raises(DocumentError, match=r"takes the package docling to read: run `.*pip install 'docling"):
        extract("a.pdf", GOOD, "docling")


def test_a_converter_that_there_is_not():
    with pytest.raises(InputError, match="there is no converter 'x': give 'docling', or none"):
        extract("a.pdf", GOOD, "x")
