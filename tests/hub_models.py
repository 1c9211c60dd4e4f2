"""Repositories as huggingface.co has them, in two layers: for tests that pull a model by name and convert it.

The fixture `model_hub` in conftest.py serves them. The tokenizer is real: all-MiniLM-L6-v2's, as theirs are.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from oracle import folders, seeded

BGE, NOMIC = "BAAI/bge-small-en-v1.5", "nomic-ai/nomic-embed-text-v1.5"
LAYERS = 2
TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")
BGE_NEEDED = [
    "modules.json",
    "config.json",
    "sentence_bert_config.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "config_sentence_transformers.json",
    "1_Pooling/config.json",
    "tokenizer.json",
    "model.safetensors",
]
"""What its conversion asks for, in order."""


def bge_small(minilm: Path, seed: int = 0) -> dict[str, bytes]:
    """BAAI/bge-small-en-v1.5 with two layers (384 dimensions, 12 heads, CLS) of seeded weights in F16, 32 MB.

    `minilm` is the folder whose vocabulary it takes, which is bge-small's too. Another `seed` is another model.
    """
    config = {
        "architectures": ["BertModel"], "attention_probs_dropout_prob": 0.1, "classifier_dropout": None,
        "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": 384, "id2label": {"0": "LABEL_0"},
        "initializer_range": 0.02, "intermediate_size": 1536, "label2id": {"LABEL_0": 0}, "layer_norm_eps": 1e-12,
        "max_position_embeddings": 512, "model_type": "bert", "num_attention_heads": 12, "num_hidden_layers": LAYERS,
        "pad_token_id": 0, "position_embedding_type": "absolute", "torch_dtype": "float32", "type_vocab_size": 2,
        "use_cache": True, "vocab_size": 30522,
    }  # fmt: skip
    return {
        **_sentence_transformers("cls", 512, "sentence_transformers.models.Normalize"),
        **{name: (minilm / name).read_bytes() for name in TOKENIZER},
        "config.json": _json(config),
        "model.safetensors": weights(seed),
        "pytorch_model.bin": b"a pickle that nobody should open",
        "onnx/model.onnx": b"a graph that nobody asked for",
        "README.md": b"---\ntags:\n- mteb\nlicense: mit\nlanguage:\n- en\n---\n# FlagEmbedding\n",
        ".gitattributes": b"*.safetensors filter=lfs diff=lfs merge=lfs -text\n",
    }


def nomic(minilm: Path) -> dict[str, bytes]:
    """nomic-ai/nomic-embed-text-v1.5 with two layers: rotary positions and SwiGLU, by code of its own."""
    code = "configuration_hf_nomic_bert.NomicBertConfig", "modeling_hf_nomic_bert.NomicBertModel"
    config = {
        "activation_function": "swiglu", "architectures": ["NomicBertModel"], "attn_pdrop": 0.0,
        "auto_map": {"AutoConfig": code[0], "AutoModel": code[1]}, "causal": False, "layer_norm_epsilon": 1e-12,
        "max_trained_positions": 2048, "mlp_fc1_bias": False, "mlp_fc2_bias": False, "model_type": "nomic_bert",
        "n_embd": 768, "n_head": 12, "n_inner": 3072, "n_layer": LAYERS, "n_positions": 8192, "prenorm": False,
        "qkv_proj_bias": False, "rotary_emb_base": 1000, "rotary_emb_fraction": 1.0, "type_vocab_size": 2,
        "use_rms_norm": False, "vocab_size": 30528,
    }  # fmt: skip
    layers = {
        f"encoder.layers.{layer}.{name}.weight": np.zeros(shape, np.float16)
        for layer in range(LAYERS)
        for name, shape in {"attn.Wqkv": (2304, 768), "mlp.fc11": (3072, 768), "mlp.fc12": (3072, 768)}.items()
    }
    return {
        **_sentence_transformers("mean", 8192),
        **{name: (minilm / name).read_bytes() for name in TOKENIZER},
        "config.json": _json(config),
        "configuration_hf_nomic_bert.py": b"raise SystemExit('code of a repository was run')\n",
        "modeling_hf_nomic_bert.py": b"raise SystemExit('code of a repository was run')\n",
        "model.safetensors": safetensors(layers),
        "README.md": b"---\nlicense: apache-2.0\n---\n# nomic-embed-text-v1.5\n",
    }


def weights(seed: int = 0) -> bytes:
    """Seeded weights of bge-small's shape as a safetensors file, with what it keeps beside the encoder's.

    They are scaled so that the first token sees its text: MiniLM's own, which were trained for the mean, give all texts
    nearly the same one after two layers (cosine 0.99999).
    """
    shape = seeded.Shape(layers=LAYERS, hidden=384, heads=12, ffn=1536, positions=512)
    tensors = folders.weights(shape, 30_522, "F16", seed=seed)
    types = "embeddings.token_type_embeddings.weight"
    tensors[types] = np.repeat(tensors[types], 2, axis=0)
    tensors["embeddings.position_ids"] = np.arange(512, dtype=np.int64)[None]
    tensors |= {"pooler.dense.weight": np.zeros((384, 384), np.float16), "pooler.dense.bias": np.zeros(384, np.float16)}
    return safetensors(tensors)


def sharded(files: dict[str, bytes]) -> dict[str, bytes]:
    """The same repository with its weights in two files and an index, as large ones have them."""
    whole = files["model.safetensors"]
    start = 8 + int.from_bytes(whole[:8], "little")
    header: dict[str, Any] = json.loads(whole[8:start])
    header.pop("__metadata__", None)
    names = list(header)
    index, shards = {}, {}
    for number, part in enumerate((names[: len(names) // 2], names[len(names) // 2 :]), 1):
        shard = f"model-{number:05}-of-00002.safetensors"
        spans = {name: header[name]["data_offsets"] for name in part}
        shards[shard] = _raw(
            {
                name: (header[name]["dtype"], header[name]["shape"], whole[start + begin : start + end])
                for name, (begin, end) in spans.items()
            }
        )
        index |= dict.fromkeys(part, shard)
    rest = {name: content for name, content in files.items() if name != "model.safetensors"}
    return {**rest, **shards, "model.safetensors.index.json": _json({"metadata": {}, "weight_map": index})}


def safetensors(tensors: dict[str, Any]) -> bytes:
    """A file of these arrays."""
    return _raw(
        {name: (folders.NAMES[array.dtype.name], list(array.shape), array.tobytes()) for name, array in tensors.items()}
    )


def _raw(tensors: dict[str, tuple[str, list[int], bytes]]) -> bytes:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(content)]}
        at += len(content)
    text = json.dumps(header).encode()
    return b"".join([len(text).to_bytes(8, "little"), text, *(content for _, _, content in tensors.values())])


def _sentence_transformers(pooling: str, positions: int, *more: str) -> dict[str, bytes]:
    kinds = ["sentence_transformers.models.Transformer", "sentence_transformers.models.Pooling", *more]
    places = ["", "1_Pooling", "2_Normalize"]
    modules = [{"idx": at, "name": str(at), "path": places[at], "type": kind} for at, kind in enumerate(kinds)]
    modes = {
        "word_embedding_dimension": 384, "pooling_mode_cls_token": pooling == "cls",
        "pooling_mode_mean_tokens": pooling == "mean", "pooling_mode_max_tokens": False,
        "pooling_mode_mean_sqrt_len_tokens": False,
    }  # fmt: skip
    versions = {"__version__": {"sentence_transformers": "2.2.2", "transformers": "4.28.1", "pytorch": "1.13.0+cu117"}}
    return {
        "modules.json": _json(modules),
        "1_Pooling/config.json": _json(modes),
        "sentence_bert_config.json": _json({"max_seq_length": positions, "do_lower_case": False}),
        "config_sentence_transformers.json": _json(versions),
    }


def _json(value: object) -> bytes:
    return json.dumps(value, indent=2).encode() + b"\n"
