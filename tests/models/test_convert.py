"""`models.convert`: from folders as they are published to files that give the same vectors."""

import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFReader
from gguf.quants import quantize

from bankml import models
from bankml._engine import GGUF, Engine
from bankml.encoder import Encoder
from bankml.errors import InputError, ModelError
from bankml.models import conversion, hugging_face, safetensors
from bankml.models.gguf_writer import Origin
from bankml.models.presets import ALL_MINILM_L6_V2
from bankml.models.verify import published_for
from oracle import folders, vectors

TEXTS = ["", "why is the sky blue?", "Ein längerer Satz, mit Zeichen: 日本語 и русский.", "word " * 600]
MEMORY_MB = 64  # growth while a table of 102 MB is converted
Writer = Callable[[Path, dict[str, np.ndarray]], None]


@functools.cache
def reference(folder: Path, pooling: str, ids: tuple[tuple[int, ...], ...]) -> list[np.ndarray]:
    """The vectors by the folder's own weights; they take seconds and are the same for every type."""
    return folders.FolderReference(folder, pooling).encode_ids([list(text) for text in ids])


def ids_of(path: Path) -> list[list[int]]:
    engine = Engine(path, threads=1)
    return [engine.tokenize(text, limit=engine.context_length)[0] for text in TEXTS]


def field(path: Path, key: str) -> Any:
    return GGUFReader(path).fields[key].contents()


def tensors(path: Path) -> dict[str, np.ndarray]:
    return {tensor.name: tensor.data for tensor in GGUFReader(path).tensors}


@pytest.mark.parametrize(("type", "cosine"), [("f32", 0.999_99), ("f16", 0.999_99), ("q8_0", 0.998)])
def test_the_real_minilm_gives_the_published_vector(
    minilm_folder: Path, tmp_path: Path, type: Any, cosine: float
) -> None:
    made = models.convert(minilm_folder, tmp_path / "m.gguf", type=type)
    facts = (made.layers, made.dims, made.context_length, made.pooling, made.type, made.licence)
    assert facts == (6, 384, 512, "mean", type.upper(), "apache-2.0")
    published = published_for(models.choose("all-minilm"))
    assert published is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no key is left to be assumed
        encoder = Encoder(made.path)
    assert encoder.digest == made.sha256
    assert float(encoder.encode([published.text])[0] @ published.vector) >= cosine
    ids = ids_of(made.path)
    truth = reference(minilm_folder, "mean", tuple(map(tuple, ids)))
    found = vectors.distance(vectors.encode_ids(made.path, ids), truth)
    assert vectors.FLOATS.allows(found) if type == "f32" else found.cosine >= cosine, found


def test_the_whole_folder_gives_the_bytes_of_the_built_in(minilm_folder: Path, tmp_path: Path) -> None:
    preset = ALL_MINILM_L6_V2
    origin = Origin(preset.title, preset.licence, preset.source, preset.organization)
    hugging_face.convert(minilm_folder, tmp_path / "m.gguf", origin)
    assert models.conversion.sha256(tmp_path / "m.gguf") == preset.gguf_sha256


@pytest.mark.parametrize(("type", "cosine"), [("f32", None), ("f16", 0.999_99), ("q8_0", 0.99)])
def test_xlm_roberta_gives_the_vectors_of_its_source(
    xlmr_folder: Path, tmp_path: Path, type: Any, cosine: float | None
) -> None:
    made = models.convert(xlmr_folder, tmp_path / "m.gguf", type=type)
    assert (made.context_length, made.pooling, made.licence, made.name) == (512, "cls", "mit", "xlm-roberta")
    ids = ids_of(made.path)
    assert max(map(len, ids)) == 512
    ours = vectors.encode_ids(made.path, ids)
    found = vectors.distance(ours, reference(xlmr_folder, "cls", tuple(map(tuple, ids))))
    assert vectors.FLOATS.allows(found) if cosine is None else found.cosine >= cosine, found
    assert vectors.largest_cosine(ours) < 0.95


def test_the_keys_of_xlm_roberta(xlmr_folder: Path, tmp_path: Path, e5: Path) -> None:
    path = models.convert(xlmr_folder, tmp_path / "m.gguf").path
    metadata, ours, theirs = Engine(path).metadata, Engine(path), Engine(e5)
    expected = {
        "general.architecture": "bert", "general.file_type": 1, "bert.block_count": 2, "bert.context_length": 512,
        "bert.embedding_length": 64, "bert.feed_forward_length": 128, "bert.attention.head_count": 4,
        "bert.attention.causal": False, "bert.pooling_type": 2, "tokenizer.ggml.token_type_count": 1,
        "tokenizer.ggml.model": "t5", "tokenizer.ggml.mask_token_id": 250_001,
    }  # fmt: skip
    assert {key: metadata[key] for key in expected} == expected
    assert metadata["bert.attention.layer_norm_epsilon"] == pytest.approx(1e-5)
    for text in (*TEXTS, "<mask> </s> ﬁ Å"):
        assert ours.tokenize(text)[0] == theirs.tokenize(text)[0]
    assert ours.tokenize("a <mask>", parse_special=True)[0][-2] == 250_001


def test_the_first_rows_of_xlm_robertas_positions_are_dropped(
    bert_folder: Path, bert_weights: dict[str, np.ndarray], tmp_path: Path
) -> None:
    config = bert_folder / "config.json"
    folders.write_json(config, json.loads(config.read_text()) | {"model_type": "xlm-roberta", "pad_token_id": 1})
    weights = {f"roberta.{name}": array for name, array in bert_weights.items()}
    folders.write_safetensors(bert_folder / "model.safetensors", weights)
    path = models.convert(bert_folder, tmp_path / "m.gguf").path
    table = bert_weights["embeddings.position_embeddings.weight"]
    np.testing.assert_array_equal(tensors(path)["position_embd.weight"], table[2:])
    assert field(path, "bert.context_length") == len(table) - 2


def test_several_files_prefixes_and_old_names_give_the_same_bytes(
    bert_folder: Path, bert_weights: dict[str, np.ndarray], tmp_path: Path
) -> None:
    plain = models.convert(bert_folder, tmp_path / "a.gguf").path.read_bytes()
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): array
        for name, array in bert_weights.items()
    }
    (bert_folder / "model.safetensors").unlink()
    weight_map = {f"bert.{name}": f"{at % 3}.safetensors" for at, name in enumerate(old)}
    for at in range(3):
        part = {name: old[name.removeprefix("bert.")] for name, file in weight_map.items() if file[0] == str(at)}
        heads = {"cls.predictions.bias": np.ones(12, np.float32)} if at == 0 else {}
        folders.write_safetensors(bert_folder / f"{at}.safetensors", part | heads)
    folders.write_json(bert_folder / "model.safetensors.index.json", {"weight_map": weight_map})
    assert models.convert(bert_folder, tmp_path / "b.gguf").path.read_bytes() == plain


@pytest.mark.parametrize("name", ["pooler.dense.weight", "lm_head.bias", "cls.seq_relationship.bias"])
def test_heads_are_left_out(bert_folder: Path, bert_weights: dict[str, np.ndarray], tmp_path: Path, name: str) -> None:
    folders.write_safetensors(bert_folder / "model.safetensors", bert_weights | {name: np.ones(2, np.float32)})
    models.convert(bert_folder, tmp_path / "m.gguf")


@pytest.mark.parametrize("name", ["classifier.weight", "encoder.layer.0.adapter.weight", "linear.weight", "xpooler.a"])
def test_tensors_with_work_to_do_are_refused(
    bert_folder: Path, bert_weights: dict[str, np.ndarray], tmp_path: Path, name: str
) -> None:
    folders.write_safetensors(bert_folder / "model.safetensors", bert_weights | {name: np.ones(2, np.float32)})
    with pytest.raises(ModelError, match=rf"1 tensors that .* does not use \({name}\)"):
        models.convert(bert_folder, tmp_path / "m.gguf")


def test_q8_0_has_the_bits_of_gguf(bert_folder: Path, bert_weights: dict[str, np.ndarray], tmp_path: Path) -> None:
    stored = tensors(models.convert(bert_folder, tmp_path / "m.gguf", type="q8_0").path)
    for name, source in (
        ("token_embd", "embeddings.word_embeddings"),
        ("blk.1.ffn_down", "encoder.layer.1.output.dense"),
    ):
        blocks = quantize(bert_weights[f"{source}.weight"], GGMLQuantizationType.Q8_0)
        np.testing.assert_array_equal(stored[f"{name}.weight"], blocks)
    assert stored["position_embd.weight"].dtype == np.float32


def test_q8_0_has_the_same_bits_in_runs(bert_folder: Path, bert_weights: dict[str, np.ndarray], tmp_path: Path) -> None:
    config, name = bert_folder / "config.json", "embeddings.word_embeddings.weight"
    table = np.random.default_rng(2).normal(size=(70_001, 32)).astype(np.float32)
    assert table.nbytes > 2 * safetensors.RUN
    folders.write_json(config, json.loads(config.read_text()) | {"vocab_size": len(table)})
    folders.write_safetensors(bert_folder / "model.safetensors", bert_weights | {name: table})
    stored = tensors(models.convert(bert_folder, tmp_path / "m.gguf", type="q8_0").path)
    np.testing.assert_array_equal(stored["token_embd.weight"], quantize(table, GGMLQuantizationType.Q8_0))


def test_rows_that_blocks_do_not_fill_are_f16_in_a_q8_0_file(tmp_path: Path, bert_folder: Path) -> None:
    config = bert_folder / "config.json"
    folders.write_json(config, json.loads(config.read_text()) | {"intermediate_size": 48})
    source = folders.read_safetensors(bert_folder / "model.safetensors")
    cut = {
        name: array[:, :48] if name.endswith(("0.output.dense.weight", "1.output.dense.weight")) else array
        for name, array in source.items()
    }
    cut |= {name: array[:48] for name, array in source.items() if "intermediate" in name}
    attention = {name: array for name, array in source.items() if "attention.output" in name}
    folders.write_safetensors(
        tmp_path / "new", {name: np.ascontiguousarray(a) for name, a in (cut | attention).items()}
    )
    (tmp_path / "new").replace(bert_folder / "model.safetensors")
    made = models.convert(bert_folder, tmp_path / "m.gguf", type="q8_0")
    assert made.notes == ("2 matrices are F16: their rows are no multiple of Q8_0's blocks of 32",)
    stored = tensors(made.path)
    assert (stored["blk.0.ffn_down.weight"].dtype, stored["blk.0.ffn_up.weight"].dtype) == (np.float16, np.uint8)


@pytest.mark.parametrize(
    ("value", "type", "words"),
    [
        (np.nan, "f32", "has a value that is not finite"),
        (-np.inf, "f16", "has a value that is not finite"),
        (np.nan, "q8_0", "has a value that is not finite"),
        (70_000.0, "f16", "has the value 70000, too large for F16: use --type f32"),
        (-70_000.0, "f16", "has the value 70000, too large for F16"),
        (1e8, "q8_0", "has the value 1e.08, too large for Q8_0"),
    ],
)
def test_a_weight_that_cannot_be_kept_is_named(
    bert_folder: Path, bert_weights: dict[str, np.ndarray], tmp_path: Path, value: float, type: Any, words: str
) -> None:
    name = "encoder.layer.1.attention.output.dense.weight"
    bert_weights[name][-1, -1] = value
    folders.write_safetensors(bert_folder / "model.safetensors", bert_weights)
    (tmp_path / "out").mkdir()
    with pytest.raises(ModelError, match=f"tensor '{name}' {words}"):
        models.convert(bert_folder, tmp_path / "out" / "m.gguf", type=type)
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(("value", "type"), [(70_000.0, "f32"), (70_000.0, "q8_0"), (65_504.0, "f16")])
def test_a_large_weight_is_kept_where_it_fits(
    bert_folder: Path, bert_weights: dict[str, np.ndarray], tmp_path: Path, value: float, type: Any
) -> None:
    bert_weights["embeddings.word_embeddings.weight"][3, 3] = value
    folders.write_safetensors(bert_folder / "model.safetensors", bert_weights)
    models.convert(bert_folder, tmp_path / "m.gguf", type=type)


@pytest.mark.parametrize("half", ["BF16", "F16"])
def test_weights_of_half_the_size_are_kept_exactly(
    bert_folder: Path, bert_weights: dict[str, np.ndarray], tmp_path: Path, half: str
) -> None:
    bits = {
        name: (array.view(np.uint32) >> 16).astype("<u2") for name, array in bert_weights.items() if "ids" not in name
    }
    wide = {name: (array.astype(np.uint32) << 16).view(np.float32) for name, array in bits.items()}
    if half == "F16":
        bits = {name: array.astype(np.float16) for name, array in wide.items()}
        wide = {name: array.astype(np.float32) for name, array in bits.items()}
    stored = []
    for weights in (bits, wide):
        folders.write_safetensors(bert_folder / "model.safetensors", weights)
        stored.append(models.convert(bert_folder, tmp_path / "m.gguf", type="f32", overwrite=True).path.read_bytes())
    assert stored[0] == stored[1]


def test_weights_that_are_integers_are_refused(bert_folder: Path, tmp_path: Path) -> None:
    path = bert_folder / "model.safetensors"
    content = path.read_bytes()
    name = b'"encoder.layer.0.attention.self.query.weight": {"dtype": '
    path.write_bytes(content.replace(name + b'"F32"', name + b'"I32"'))
    with pytest.raises(ModelError, match=r"query.weight' is I32: only F64, F32, F16 and BF16"):
        models.convert(bert_folder, tmp_path / "m.gguf")


def test_pooling_is_asked_for_where_it_is_not_recorded(bert_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="records the pooling mean, and cls was asked for"):
        models.convert(bert_folder, tmp_path / "m.gguf", pooling="cls")
    shutil.rmtree(bert_folder / "1_Pooling")
    with pytest.raises(ModelError, match=r"1_Pooling/config.json\): see the model's card and give --pooling"):
        models.convert(bert_folder, tmp_path / "m.gguf")
    assert field(models.convert(bert_folder, tmp_path / "m.gguf", pooling="cls").path, "bert.pooling_type") == 2


def test_same_input_same_bytes(bert_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(bert_folder, tmp_path / "again" / bert_folder.name)
    first, second = (
        models.convert(folder, tmp_path / f"{at}.gguf")
        for at, folder in enumerate((bert_folder, tmp_path / "again" / bert_folder.name))
    )
    assert first.sha256 == second.sha256


def test_the_name_is_the_repositorys_in_the_hubs_cache(bert_folder: Path, tmp_path: Path) -> None:
    cached = tmp_path / "models--owner--a-model" / "snapshots" / "0123"
    shutil.copytree(bert_folder, cached)
    path = models.convert(cached, tmp_path / "m.gguf", url="https://example.org", organization="owner").path
    keys = ("general.name", "general.source.url", "general.organization")
    assert [field(path, key) for key in keys] == ["a-model", "https://example.org", "owner"]
    odd = tmp_path / os.fsdecode(b"odd\xff")
    shutil.copytree(bert_folder, odd)
    assert models.convert(odd, tmp_path / "o.gguf").name == "odd\ufffd"


def test_a_file_that_is_there_stays_unless_it_may_be_replaced(bert_folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "m.gguf"
    target.write_text("mine")
    with pytest.raises(ModelError, match="is there already: give --force"):
        models.convert(bert_folder, target)
    assert target.read_text() == "mine"
    with pytest.raises(ModelError, match="is there already"):
        models.convert(bert_folder, tmp_path / "late.gguf", progress=lambda *_: (tmp_path / "late.gguf").touch())
    assert (tmp_path / "late.gguf").read_bytes() == b""
    models.convert(bert_folder, target, overwrite=True)
    assert target.read_bytes()[:4] == b"GGUF"


@pytest.mark.parametrize(
    ("folder", "target", "options", "error", "words"),
    [
        ("none", "m.gguf", {}, ModelError, "there is no folder '.*none'"),
        ("bert/config.json", "m.gguf", {}, ModelError, "is not a folder"),
        ("bert", "m.bin", {}, InputError, "does not end in .gguf"),
        ("bert", "d.gguf", {}, ModelError, "is a folder"),
        ("bert", "m.gguf", {"type": "q4_0"}, InputError, "the type is 'q4_0'"),
        ("bert", "m.gguf", {"pooling": "max"}, InputError, "the pooling is 'max'"),
        ("bert", "bert/config.json/m.gguf", {}, ModelError, r"m.gguf' cannot be written \(.*\): choose another"),
        (
            "bert",
            f"{'x' * 300}.gguf",
            {},
            ModelError,
            r"gguf' cannot be written \(File name too long\): choose another",
        ),
        ("bert", "/proc/m.gguf", {}, ModelError, r"'/proc/m.gguf' cannot be written \(.*\): choose another"),
        ("x" * 300, "m.gguf", {}, ModelError, r"xx' cannot be read \(File name too long\): check the path"),
    ],
)
def test_wrong_arguments_are_said(
    bert_folder: Path, tmp_path: Path, folder: str, target: str, options: Any, error: type[Exception], words: str
) -> None:
    (tmp_path / "d.gguf").mkdir()
    with pytest.raises(error, match=words):
        models.convert(tmp_path / folder, tmp_path / target, **options)


def test_a_path_that_is_not_utf_8_is_written(bert_folder: Path, tmp_path: Path) -> None:
    target = tmp_path / os.fsdecode(b"odd\xff") / os.fsdecode(b"m\xfe.gguf")
    assert models.convert(bert_folder, target).path == target
    assert Engine(target).dims == Encoder(target).dims == Engine(os.fsencode(target)).dims == 32
    assert GGUF(target).metadata["general.name"] == "bert"


@pytest.mark.parametrize("kind", ["fifo", "device"])
@pytest.mark.parametrize(
    "name",
    ["config.json", "tokenizer.json", "vocab.txt", "tokenizer_config.json", "1_Pooling/config.json", "modules.json",
     "model.safetensors", "model.safetensors.index.json"],
)  # fmt: skip
@pytest.mark.timeout(30)
def test_what_is_not_a_regular_file_is_refused(bert_folder: Path, tmp_path: Path, name: str, kind: str) -> None:
    path = bert_folder / name
    path.unlink(missing_ok=True)
    if "index" in name:
        (bert_folder / "model.safetensors").unlink()
    os.mkfifo(path) if kind == "fifo" else path.symlink_to("/dev/zero")
    with pytest.raises(ModelError, match=f"{name}.* not a regular file.*: fetch"):
        models.convert(bert_folder, tmp_path / "m.gguf")


@pytest.mark.timeout(30)
def test_a_card_that_is_not_a_regular_file_states_nothing(bert_folder: Path, tmp_path: Path) -> None:
    os.mkfifo(bert_folder / "README.md")
    assert models.convert(bert_folder, tmp_path / "m.gguf").licence == ""


def test_names_of_tensors_are_printable(bert_folder: Path, bert_weights: dict[str, np.ndarray], tmp_path: Path) -> None:
    folders.write_safetensors(bert_folder / "model.safetensors", bert_weights | {"a\x1b[2J": np.ones(2, np.float32)})
    with pytest.raises(ModelError, match=r"1 tensors that .* does not use \(a\ufffd\[2J\)"):
        models.convert(bert_folder, tmp_path / "m.gguf")


def test_a_file_that_the_engine_refuses_gets_no_name(bert_folder: Path, tmp_path: Path) -> None:
    path = bert_folder / "config.json"
    folders.write_json(path, json.loads(path.read_text()) | {"layer_norm_eps": 1e-300})  # 0 as float32
    (tmp_path / "out").mkdir()
    with pytest.raises(ModelError, match="the file that was made cannot be loaded"):
        models.convert(bert_folder, tmp_path / "out" / "m.gguf")
    assert list((tmp_path / "out").iterdir()) == []


ODD: tuple[Any, ...] = (None, True, -1, 1e308, "x", "\ud800", "a\0", "x" * 300, [], [[]], {}, {"a": 1}, 10**400)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value, the first three of a list."""
    inner = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in places(item, (*path, key)))]


def changed(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    if not path:
        return odd
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(value[path[0]], path[1:], odd)
    return copy


@pytest.mark.parametrize("kind", ["wordpiece", "unigram"])
def test_any_json_is_converted_or_refused(
    bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Every value of every file, replaced by every odd one; for the second kind of the files about its tokenizer."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # two thousand files that nobody keeps
    vocabulary = (bert_folder / "vocab.txt").read_text().split()
    pieces = ["<s>", "<pad>", "</s>", "<unk>", *vocabulary[4:-1], "<mask>"]
    charsmap = b"\4\0\0\0\0\0\0\0a\0"
    fast = {
        "wordpiece": folders.wordpiece_json(vocabulary),
        "unigram": folders.unigram_json([[piece, -1.0] for piece in pieces], charsmap),
    }[kind]
    modules = [{"path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind in (("", "Transformer"),)]
    contents = {
        "tokenizer.json": fast,
        "config.json": json.loads((bert_folder / "config.json").read_text()),
        "tokenizer_config.json": {"do_lower_case": True, "strip_accents": None, "cls_token": {"content": "[CLS]"}},
        "special_tokens_map.json": {"sep_token": "[SEP]"},
        "sentence_bert_config.json": {"max_seq_length": 8, "do_lower_case": False},
        "config_sentence_transformers.json": {"default_prompt_name": "a", "prompts": {"a": "b"}},
        "1_Pooling/config.json": {"pooling_mode_mean_tokens": True, "pooling_mode": None},
        "modules.json": [*modules, {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}],
        "model.safetensors.index.json": {"weight_map": {"embeddings.LayerNorm.weight": "1.safetensors"}},
    }
    for name, content in contents.items():
        folders.write_json(bert_folder / name, content)
    (bert_folder / "model.safetensors").rename(bert_folder / "1.safetensors")
    assert convert_or_refuse(bert_folder, tmp_path / "m.gguf", "plain")
    for name, content in contents.items():
        for place in places(content) if kind == "wordpiece" or "token" in name else ():
            for odd in ODD:
                folders.write_json(bert_folder / name, changed(content, place, odd))
                convert_or_refuse(bert_folder, tmp_path / "m.gguf", (name, place, odd))
        folders.write_json(bert_folder / name, content)


@pytest.mark.parametrize("key", ["license", "license_name", "tags", "\x00", "---"])
def test_any_card_is_read(bert_folder: Path, tmp_path: Path, key: str) -> None:
    for odd in (*map(repr, ODD), "\x1b[2J", "a" * 70_000, "\xa0", "---"):
        for first in ("license: other\n", ""):
            (bert_folder / "README.md").write_text(f"---\n{first}{key}: {odd}\n---\n", encoding="utf-8")
            assert convert_or_refuse(bert_folder, tmp_path / "m.gguf", (key, odd))


def convert_or_refuse(folder: Path, target: Path, what: Any) -> bool:
    """Whether it was converted."""
    try:
        models.convert(folder, target, overwrite=True)
    except ModelError:
        return False
    except Exception as error:
        raise AssertionError(what) from error
    return True


BIG = """
import sys
from pathlib import Path
import gguf, gguf.quants
from bankml import models
from bankml.models import conversion
import bankml._engine

def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))

before = peak()
models.convert(sys.argv[1], sys.argv[2], type=sys.argv[3])
print(peak() - before)
"""


@pytest.mark.parametrize("type", ["f32", "f16", "q8_0"])
def test_memory_stays_below_the_largest_tensor(bert_folder: Path, tmp_path: Path, type: str) -> None:
    rows, hidden = 100_000, 256
    source = folders.read_safetensors(bert_folder / "model.safetensors")
    wide = {name: np.resize(array, widened(name, array.shape, rows, hidden)) for name, array in source.items()}
    folders.write_safetensors(tmp_path / "new", wide)
    (tmp_path / "new").replace(bert_folder / "model.safetensors")
    config = bert_folder / "config.json"
    folders.write_json(config, json.loads(config.read_text()) | {"hidden_size": hidden, "vocab_size": rows})
    command = [sys.executable, "-c", BIG, str(bert_folder), str(tmp_path / "m.gguf"), type]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert int(done.stdout) < MEMORY_MB * 1024


def widened(name: str, shape: tuple[int, ...], rows: int, hidden: int) -> tuple[int, ...]:
    if name == "embeddings.word_embeddings.weight":
        return (rows, hidden)
    return tuple(hidden if size == 32 else size for size in shape)


STOPPED = """
import sys, time
from bankml import models

def wait(what, done, total):
    if what.startswith("converting"):
        print("half", flush=True)
        time.sleep(60)

models.convert(sys.argv[1], sys.argv[2], progress=wait)
"""


@pytest.mark.parametrize(("sent", "left"), [(signal.SIGINT, 0), (signal.SIGKILL, 1)])
def test_a_conversion_that_is_stopped_leaves_no_file_of_the_name(
    bert_folder: Path, tmp_path: Path, sent: signal.Signals, left: int
) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-c", STOPPED, str(bert_folder), str(out / "m.gguf")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "half\n"
        process.send_signal(sent)
    rest = [path.name for path in out.iterdir()]
    assert len(rest) == left
    assert all(name.startswith(".m.gguf.") and name.endswith(".tmp") for name in rest)
    models.convert(bert_folder, out / "m.gguf")
    assert [path.name for path in out.iterdir()] == ["m.gguf"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="a small disk is mounted as root only")
def test_a_disk_that_fills_up_is_said(bert_folder: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("this machine mounts nothing")
    try:
        with pytest.raises(ModelError, match=r"m.gguf' cannot be written \(No space left on device\): free some"):
            models.convert(bert_folder, disk / "m.gguf", type="f32")
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", disk], check=True)


def test_recorded_pooling(bert_folder: Path) -> None:
    assert conversion.recorded_pooling(bert_folder) == "mean"
