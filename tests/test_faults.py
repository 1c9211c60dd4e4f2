"""What goes wrong under a running engine: bad weights, a truncated file, fork, Ctrl-C, a caller that gives up."""

import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import gguf
import numpy as np
import pytest
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

from bankml import Encoder, InputError, ModelError, NotFiniteError
from bankml._engine import Engine
from bankml.errors import CancelledError
from oracle import seeded

TEXT = "why is the sky blue"


def corrupted(path: Path, tensor: str, value: bytes, at: int = 0) -> Path:
    """Overwrites bytes of one tensor in place."""
    found = next(t for t in gguf.GGUFReader(path).tensors if t.name == tensor)
    with path.open("r+b") as file:
        file.seek(int(found.data_offset) + at)
        file.write(value)
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return seeded.tiny(tmp_path / "model.gguf", dtype="F16")


@pytest.mark.parametrize("tensor", ["blk.0.attn_k.weight", "blk.1.ffn_down.weight"])
@pytest.mark.parametrize("half", [b"\x00\x7c", b"\x00\xfc", b"\x01\x7e"])
def test_a_layer_weight_that_is_not_finite_is_named_at_first_use(model: Path, tensor: str, half: bytes) -> None:
    encoder = Encoder(corrupted(model, tensor, half, at=128))
    for _ in range(2):
        with pytest.raises(NotFiniteError, match=tensor) as error:
            encoder.encode([TEXT])
        assert error.value.index is None


# Where a block's floats stand: scales, minima or the value itself.
FLOATS = {
    "F32": (2,), "BF16": (0,), "F16": (0,), "Q8_0": (0,), "Q4_0": (0,), "Q4_1": (0, 2), "Q5_0": (0,), "Q5_1": (0, 2),
    "IQ4_NL": (0,), "Q2_K": (80, 82), "Q3_K": (108,), "Q4_K": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,),
}  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_scale_that_is_not_finite_is_named_in_every_type(tmp_path: Path, dtype: seeded.DType) -> None:
    assert FLOATS.keys() == set(get_args(seeded.DType))
    path = seeded.tiny(tmp_path / "model.gguf", dtype=dtype, layers=1, hidden=256, ffn=256, positions=16)
    size = GGML_QUANT_SIZES[GGMLQuantizationType[dtype]][1]
    tensor = next(t for t in gguf.GGUFReader(path).tensors if t.name == "blk.0.ffn_up.weight")
    healthy = tensor.data.tobytes()
    assert np.isfinite(Encoder(path).encode([TEXT])).all()
    for at in FLOATS[dtype]:
        for block in (0, len(healthy) // size - 1):
            encoder = Encoder(corrupted(path, tensor.name, b"\x80\xff", at=block * size + at))  # -inf, or half a NaN
            with pytest.raises(ModelError, match=r"blk\.0\.ffn_up\.weight holds a value that is not finite"):
                encoder.encode([TEXT])
            corrupted(path, tensor.name, healthy)


def test_a_type_that_is_not_run_is_named_with_those_that_are(model: Path) -> None:
    """Q8_1 instead of F32 in the file's last tensor: no other one moves."""
    name = b"blk.1.layer_output_norm.bias"
    behind = model.read_bytes().index(name) + len(name) + 4 + 8  # the number of dimensions, one extent
    with model.open("r+b") as file:
        file.seek(behind)
        file.write((9).to_bytes(4, "little"))
    with pytest.raises(ModelError, match=r"blk\.1\.layer_output_norm\.bias has the type Q8_1") as error:
        Encoder(model)
    assert set(re.split("[:,] ", str(error.value))) > set(FLOATS)


def test_a_table_row_that_is_not_finite_is_named_when_gathered(model: Path) -> None:
    encoder = Encoder(model)
    ids = encoder.tokenize(TEXT)
    row = 2 * encoder.dims
    corrupted(model, "token_embd.weight", b"\x00\x7c", at=ids[1] * row)
    encoder = Encoder(model)
    with pytest.raises(NotFiniteError, match=rf"row {ids[1]} of tensor token_embd\.weight") as error:
        encoder.encode(["", "", TEXT])
    assert error.value.index == 2
    assert np.isfinite(encoder.encode([""])).all()  # the bad text does not poison the next one


def test_a_norm_that_is_not_finite_is_an_error_at_load(model: Path) -> None:
    corrupted(model, "blk.0.attn_output_norm.weight", np.float32(np.nan).tobytes())
    with pytest.raises(ModelError, match=r"blk\.0\.attn_output_norm\.weight"):
        Encoder(model)


@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("dtype", ["F32", "Q8_0", "Q4_1"])
def test_overflow_is_an_error_never_an_answer(tmp_path: Path, dtype: seeded.DType, layer: int) -> None:
    path = seeded.tiny(tmp_path / "model.gguf", dtype=dtype, pooling="mean")
    corrupted(path, f"blk.{layer}.layer_output_norm.weight", np.full(64, 3e38, np.float32).tobytes())
    with pytest.raises(NotFiniteError, match="too large"):
        Encoder(path).encode([TEXT])


@pytest.mark.parametrize("pooling", ["mean", "cls", "none"])
def test_the_text_that_overflows_is_named_and_spoils_no_other(
    tmp_path: Path, overflowing: Callable[..., Path], pooling: seeded.Pooling
) -> None:
    encoder = Encoder(overflowing(tmp_path / "model.gguf", TEXT, pooling))
    good = [f"text {k}" for k in range(700)]  # several passes
    before = encoder.encode(good)
    for place in (0, 3, 699, 700):
        with pytest.raises(NotFiniteError) as error:
            encoder.encode([*good[:place], TEXT, *good[place:]])
        assert error.value.index == place
    assert encoder.encode(good).tobytes() == before.tobytes()


def test_verify_reads_every_weight(model: Path) -> None:
    seen: list[tuple[int, int]] = []
    Engine(model).verify_finite(lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1] > 0
    corrupted(model, "token_embd.weight", b"\x00\x7c", at=128 * 300)  # a row no text has used
    with pytest.raises(ModelError, match="token_embd"):
        Engine(model).verify_finite()


def test_a_truncated_file_is_an_error_before_the_next_pass(model: Path) -> None:
    encoder = Encoder(model)
    encoder.encode([TEXT])
    os.truncate(model, model.stat().st_size // 2)
    for _ in range(2):
        with pytest.raises(ModelError, match="truncated"):
            encoder.encode([TEXT])


def test_a_file_that_is_written_to_is_an_error_not_another_models_answer(model: Path, tmp_path: Path) -> None:
    """As `cp new.gguf model.gguf` does, in place: neither weights nor metadata of the new bytes may be used."""
    encoder = Encoder(model)
    encoder.encode([TEXT])
    other = seeded.tiny(tmp_path / "other.gguf", dtype="F16", seed=7).read_bytes()
    with model.open("r+b") as file:
        file.write(other)
    with pytest.raises(ModelError, match="written to"):
        encoder.encode([TEXT])
    with pytest.raises(ModelError, match="written to"):
        _ = Encoder.metadata.func(encoder)  # type: ignore[attr-defined]


def test_a_file_truncated_during_a_pass_is_an_error_not_a_signal(tmp_path: Path) -> None:
    """In a process of its own: without the guard it dies of SIGBUS."""
    path = seeded.tiny(tmp_path / "model.gguf", dtype="F32", layers=12, hidden=256, heads=4, ffn=1024)
    script = """
import os, sys, threading, time
from bankml import Encoder, ModelError
encoder = Encoder(sys.argv[1])
threading.Thread(target=lambda: (time.sleep(0.2), os.truncate(sys.argv[1], 200_000))).start()
try:
    for _ in range(10_000):
        encoder._engine.encode(["why is the sky blue " * 30])
except ModelError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done
    assert "truncated" in done.stdout


def test_a_fault_inside_the_map_is_repaired_and_reported(model: Path) -> None:
    """The size check is bypassed: the file shrinks and grows back as a hole, and a page is read in between."""
    script = """
import os, sys
from bankml import Encoder, ModelError
path = sys.argv[1]
encoder = Encoder(path)
descriptor = os.open(path, os.O_RDWR)
import ctypes
maps = [line for line in open("/proc/self/maps") if path in line]
start, end = (int(part, 16) for part in maps[0].split()[0].split("-"))
before = os.stat(path)
os.truncate(path, 4096)
ctypes.string_at(end - 4096, 1)   # a fault beyond the end of the file
os.truncate(path, end - start)
os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # only the fault itself can tell
try:
    encoder.encode(["a"])
except ModelError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script, model], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done
    assert "truncated" in done.stdout


def _encode_in_child(path: Path, out: "multiprocessing.SimpleQueue[bytes]") -> None:
    out.put(Encoder(path, threads=2).encode([TEXT]).tobytes())


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_after_fork_encodes_the_same_bits(model: Path) -> None:
    encoder = Encoder(model, threads=2)
    expected = encoder.encode([TEXT]).tobytes()
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=_encode_in_child, args=(model, queue))
    child.start()
    assert queue.get() == expected
    child.join(30)
    assert child.exitcode == 0
    assert encoder.encode([TEXT]).tobytes() == expected


def long_work(encoder: Encoder, **options: object) -> None:
    encoder.encode_full([TEXT * 80] * 20_000, **options)  # type: ignore[arg-type]


def test_ctrl_c_is_seen_between_layers(model: Path) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job starts with it ignored
    encoder = Encoder(model)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        long_work(encoder)
    assert time.monotonic() - start < 10
    assert np.isfinite(encoder.encode([TEXT])).all()


def test_a_caller_that_gives_up_is_seen_between_layers(model: Path) -> None:
    encoder, stop = Encoder(model), threading.Event()
    threading.Timer(0.3, stop.set).start()
    with pytest.raises(CancelledError):
        long_work(encoder, cancelled=stop.is_set)


def test_an_exception_of_the_callers_check_comes_through(model: Path) -> None:
    def fail() -> bool:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        long_work(Encoder(model), cancelled=fail)


def test_a_closed_encoder_says_so(model: Path) -> None:
    encoder = Encoder(model)
    encoder.close()
    encoder.close()
    with pytest.raises(InputError, match="closed"):
        encoder.encode([TEXT])


@pytest.mark.parametrize("threads", [-1, 100_000])
def test_thread_counts_out_of_range(model: Path, threads: int) -> None:
    with pytest.raises(InputError, match=str(threads)):
        Encoder(model, threads=threads)
