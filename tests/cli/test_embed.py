"""`bankml embed`."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from bankml.utf8 import whole
from oracle import seeded

TEXTS = ["why is the sky blue?", "", "Der Himmel ist blau."]


def test_arguments(command, encoder, minilm):
    done = command("embed", "--model", str(minilm), *TEXTS)
    assert done.status == 0
    assert done.out.vectors == encoder.encode(TEXTS).tobytes()
    first = done.out.lines[0]
    assert list(first) == ["text", "embedding", "tokens", "truncated"]
    assert (first["text"], first["tokens"], first["truncated"]) == (TEXTS[0], 8, False)
    assert done.err == f"bankml: model {minilm.stem}: a file, as asked\n".encode()


@pytest.mark.parametrize("arguments", [[], ["-"]])
def test_lines_of_stdin(command, encoder, minilm, arguments):
    done = command("embed", "--model", str(minilm), *arguments, text="\r\n".join(TEXTS).encode() + b"\n")
    assert [line["text"] for line in done.out.lines] == TEXTS
    assert done.out.vectors == encoder.encode(TEXTS).tobytes()


def test_many_lines_of_stdin_stay_in_order(command, encoder, minilm):
    texts = [f"line {k}" for k in range(600)]
    done = command("embed", "--model", str(minilm), text="\n".join(texts).encode())
    assert [line["text"] for line in done.out.lines] == texts
    assert done.out.vectors == encoder.encode(texts).tobytes()


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (["--dimensions", "64"], {"dimensions": 64}),
        (["--no-normalize"], {"normalize": False}),
        (["--no-normalize", "--dimensions", "64"], {"normalize": False, "dimensions": 64}),
        (["--normalize", "--dimensions", "4096"], {}),
    ],
)
def test_other_vectors(here, encoder, minilm, arguments, options):
    done = here("embed", "--model", str(minilm), *arguments, *TEXTS)
    assert done.out.vectors == encoder.encode(TEXTS, **options).tobytes()


@pytest.mark.parametrize("dimensions", ["0", "-1", "many", "1.5"])
def test_dimensions_that_are_none(here, dimensions):
    done = here("embed", "--dimensions", dimensions, "sky")
    assert (done.status, done.out) == (2, b"")
    assert b"dimensions" in done.err


def test_truncation_is_told(here, minilm):
    line = here("embed", "--model", str(minilm), "word " * 600).out.lines[0]
    assert (line["tokens"], line["truncated"]) == (512, True)


def test_bytes_that_are_no_text(command, encoder, minilm):
    done = command("embed", "--model", str(minilm), b"a \xff b")
    assert done.out.lines[0]["text"] == "a \ufffd b"
    assert done.out.vectors == encoder.encode(["a \ufffd b"]).tobytes()


def test_lines_that_are_no_text(command, encoder, minilm):
    done = command("embed", "--model", str(minilm), text=b"a \xff b\n\xed\xa0\x80\n\xc3\n")
    texts = ["a \ufffd b", "\ufffd" * 3, "\ufffd"]
    assert [line["text"] for line in done.out.lines] == texts
    assert done.out.vectors == encoder.encode(texts).tobytes()


def test_odd_texts_as_lines(command, encoder, minilm, odd_texts):
    texts = [line for text in odd_texts for line in whole(text).split("\n") if not line.endswith("\r")]
    done = command("embed", "--model", str(minilm), text="\n".join([*texts, ""]).encode())
    assert [line["text"] for line in done.out.lines] == texts
    assert done.out.vectors == encoder.encode(texts).tobytes()


def test_odd_texts_as_arguments(command, encoder, minilm, odd_texts):
    texts = [text for text in map(whole, odd_texts) if "\0" not in text]
    done = command("embed", "--model", str(minilm), "--", *texts)
    assert [line["text"] for line in done.out.lines] == texts
    assert done.out.vectors == encoder.encode(texts).tobytes()


def test_a_line_of_twenty_megabytes(command, encoder, minilm):
    done = command("embed", "--model", str(minilm), text=b"word " * 4_000_000 + b"\nlast")
    assert [(line["tokens"], line["truncated"]) for line in done.out.lines] == [(512, True), (3, False)]
    assert done.out.vectors == encoder.encode(["word " * 600, "last"]).tobytes()


def test_a_hundred_thousand_lines_stay_out_of_memory(tmp_path):
    """They are 40 MB as printed; what grows after the first 3,200 is what the allocator keeps."""
    model = seeded.tiny(tmp_path / "tiny.gguf", layers=1, hidden=32, heads=2, ffn=32)
    command = [sys.executable, "-m", "bankml", "embed", "--model", str(model), "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:

        def write(count: int) -> None:
            process.stdin.write(b"a line of words\n" * count)
            process.stdin.flush()

        peaks = []
        for count in (3_200, 96_800):  # whole batches
            writer = threading.Thread(target=write, args=(count,))
            writer.start()
            size = sum(len(process.stdout.readline()) for _ in range(count))
            writer.join()
            peaks.append(peak(process.pid))
        process.communicate(timeout=60)
    assert process.returncode == 0
    assert size > 30e6
    assert peaks[1] - peaks[0] < 6e6


def peak(pid: int) -> int:
    """The most bytes that were ever resident in a process (Linux)."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))


def test_a_reader_that_leaves_early(minilm):
    script = f"{sys.executable} -m bankml embed --model {minilm} | head -c 10"
    done = subprocess.run(script, shell=True, input=b"word\n" * 2000, capture_output=True, timeout=60)
    assert done.stdout == b'{"text":"w'
    assert b"Traceback" not in done.stderr


def test_no_model_named(here, stocked_home):
    done = here("embed", "sky")
    assert done.status == 0
    assert b"bankml: model all-minilm-l6-v2: the built-in default" in done.err


def test_what_a_file_leaves_unsaid_is_told_once(command, unsaid):
    done = command("embed", "--model", str(unsaid), "sky", "blue")
    assert done.status == 0
    assert done.err.decode().splitlines() == [
        f"bankml: model {unsaid.stem}: a file, as asked",
        f"bankml: {unsaid}: tokenizer.ggml.token_type is absent: every token is taken as text",
    ]


def test_lines_come_while_others_are_still_awaited(minilm):
    command = [sys.executable, "-m", "bankml", "embed", "--model", str(minilm), "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(b"word\n" * 33)
        process.stdin.flush()
        early = [process.stdout.readline() for _ in range(32)]  # and stdin is still open
        out, err = process.communicate(timeout=60)
    assert len(early + out.splitlines()) == 33
    assert err.count(b"\n") == 1


def test_a_person_sees_the_count_when_it_takes_long(minilm):
    command = [sys.executable, "-m", "bankml", "embed", "--model", str(minilm), "-"]
    terminal, inside = os.openpty()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=inside) as process:
        process.stdin.write(b"word\n" * 32)
        process.stdin.flush()
        process.stdout.readline()
        time.sleep(2.1)
        process.communicate(b"word\n" * 32, timeout=60)
    os.close(inside)
    seen = os.read(terminal, 10_000)
    os.close(terminal)
    assert seen.endswith(b"\rbankml: 64 texts\r\n")
