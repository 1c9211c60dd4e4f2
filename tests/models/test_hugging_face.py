import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGUFReader

from bankml.errors import ModelError
from bankml.models import hugging_face
from bankml.models.gguf_writer import Origin

Writer = Callable[[Path, dict[str, np.ndarray]], None]


def converted(folder: Path) -> GGUFReader:
    path = folder.with_suffix(".gguf")
    hugging_face.convert(folder, path, Origin("tiny", "MIT"))
    return GGUFReader(path)


def change(path: Path, **values: Any) -> None:
    content = {**json.loads(path.read_bytes()), **values}
    path.write_text(json.dumps({key: value for key, value in content.items() if value is not None}))


def value(reader: GGUFReader, key: str) -> Any:
    return reader.fields[key].contents()


def test_weights_keep_their_values_and_get_ggml_names(bert_folder: Path, bert_weights: dict[str, np.ndarray]) -> None:
    tensors = {tensor.name: tensor.data for tensor in converted(bert_folder).tensors}
    assert len(tensors) == 5 + 2 * 16
    pairs = {
        "token_embd.weight": ("embeddings.word_embeddings.weight", np.float16),
        "position_embd.weight": ("embeddings.position_embeddings.weight", np.float32),
        "token_types.weight": ("embeddings.token_type_embeddings.weight", np.float32),
        "token_embd_norm.bias": ("embeddings.LayerNorm.bias", np.float32),
        "blk.1.attn_q.weight": ("encoder.layer.1.attention.self.query.weight", np.float16),
        "blk.1.attn_k.bias": ("encoder.layer.1.attention.self.key.bias", np.float32),
        "blk.0.attn_v.weight": ("encoder.layer.0.attention.self.value.weight", np.float16),
        "blk.0.attn_output.weight": ("encoder.layer.0.attention.output.dense.weight", np.float16),
        "blk.0.attn_output_norm.weight": ("encoder.layer.0.attention.output.LayerNorm.weight", np.float32),
        "blk.1.ffn_up.weight": ("encoder.layer.1.intermediate.dense.weight", np.float16),
        "blk.1.ffn_down.weight": ("encoder.layer.1.output.dense.weight", np.float16),
        "blk.1.layer_output_norm.bias": ("encoder.layer.1.output.LayerNorm.bias", np.float32),
    }
    for name, (source, dtype) in pairs.items():
        assert tensors[name].dtype == dtype
        np.testing.assert_array_equal(tensors[name], bert_weights[source].astype(dtype))


def test_words_and_suffixes_change_marks(bert_folder: Path) -> None:
    reader = converted(bert_folder)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    assert value(reader, "tokenizer.ggml.tokens") == [
        *special,
        "[unused0]",
        "▁hello",
        "hello",
        "▁wor",
        "ld",
        "▁!",
        "▁é",
    ]
    assert value(reader, "tokenizer.ggml.token_type") == [3] * 5 + [1] * 7
    roles = {"padding": 0, "unknown": 1, "cls": 2, "bos": 2, "seperator": 3, "eos": 3, "mask": 4}
    assert {role: value(reader, f"tokenizer.ggml.{role}_token_id") for role in roles} == roles
    assert value(reader, "bert.pooling_type") == 1
    assert value(reader, "tokenizer.ggml.normalizer.lowercase") is True


def test_a_prefix_before_every_name_is_understood(
    bert_folder: Path, bert_weights: dict[str, np.ndarray], safetensors_writer: Writer
) -> None:
    plain = converted(bert_folder).tensors[0].data
    safetensors_writer(
        bert_folder / "model.safetensors", {f"bert.{name}": array for name, array in bert_weights.items()}
    )
    np.testing.assert_array_equal(converted(bert_folder).tensors[0].data, plain)


def test_pooling_is_read_from_the_folder(bert_folder: Path) -> None:
    pooling = bert_folder / "1_Pooling" / "config.json"
    change(pooling, pooling_mode_cls_token=True, pooling_mode_mean_tokens=False)
    assert value(converted(bert_folder), "bert.pooling_type") == 2
    change(pooling, pooling_mode_mean_tokens=True)
    with pytest.raises(ModelError, match="only one of mean, cls and last token"):
        converted(bert_folder)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"model_type": "distilbert"}, "model_type 'distilbert'"),
        ({"model_type": ["bert"]}, "model_type \\['bert'\\]"),
        ({"model_type": "nomic_bert", "architectures": ["NomicBertModel"]}, "architectures \\['NomicBertModel'\\]"),
        ({"architectures": ["BertForSequenceClassification"]}, "BertForSequenceClassification"),
        ({"architectures": ["JinaBertForMaskedLM"], "position_embedding_type": "alibi"}, "JinaBertForMaskedLM"),
        ({"auto_map": {"AutoModel": "own.Model"}}, "code of its own .*own.Model"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type 'relative_key'"),
        ({"is_decoder": True}, "is_decoder True"),
        ({"quantization_config": {"bits": 4}}, "quantization_config"),
        ({"hidden_act": "gelu_new"}, "hidden_act 'gelu_new'"),
        ({"layer_norm_eps": "1e-12"}, "layer_norm_eps '1e-12'"),
        ({"layer_norm_eps": 0}, "layer_norm_eps 0"),
        ({"num_attention_heads": 5}, "must be a multiple"),
        ({"hidden_size": 64}, r"word_embeddings.weight' has shape \(12, 32\), its config says \(12, 64\)"),
        ({"max_position_embeddings": 17}, r"position_embeddings.weight' has shape \(16, 32\)"),
        ({"type_vocab_size": 1}, r"token_type_embeddings.weight' has shape \(2, 32\)"),
        ({"num_hidden_layers": 1}, "16 tensors that an encoder of its config does not use"),
        ({"hidden_act": "relu"}, "hidden_act 'relu'"),
        ({"num_hidden_layers": 513}, "at most 512"),
        ({"num_hidden_layers": 3}, "'encoder.layer.2.attention.self.query.weight' is missing"),
        ({"num_hidden_layers": -1}, "positive count"),
        ({"hidden_size": "32"}, "positive count"),
        ({"hidden_size": None}, "positive count"),
        ({"vocab_size": 11}, "shape .12, 32., its config says .11, 32."),
    ],
)
def test_a_config_that_does_not_fit_is_refused(bert_folder: Path, values: dict[str, Any], words: str) -> None:
    change(bert_folder / "config.json", **values)
    with pytest.raises(ModelError, match=words):
        converted(bert_folder)


@pytest.mark.parametrize("name", ["config.json", "vocab.txt", "model.safetensors", "1_Pooling/config.json"])
@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe[]"])
def test_a_missing_or_damaged_file_is_named(bert_folder: Path, name: str, content: bytes | None) -> None:
    (bert_folder / name).unlink()
    if content is not None:
        (bert_folder / name).write_bytes(content)
    with pytest.raises(ModelError, match=name):
        converted(bert_folder)


def test_a_vocabulary_without_the_special_tokens_is_refused(bert_folder: Path) -> None:
    vocabulary = bert_folder / "vocab.txt"
    vocabulary.write_text(vocabulary.read_text().replace("[SEP]", "sep"))
    with pytest.raises(ModelError, match=r"lacks \['\[SEP\]'\]"):
        converted(bert_folder)
