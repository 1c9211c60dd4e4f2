"""The same graph in PyTorch f32, where PyTorch is installed: what most people's vectors are."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from oracle.reference import Reference


def encode_ids(path: Path, texts: Sequence[Sequence[int]]) -> list[NDArray[np.float64]]:
    """A unit vector (dims,) for each text, by mean or cls pooling, on the file's dequantised weights."""
    model = Reference(path)
    with torch.inference_mode():
        return [_encode(model, torch.tensor(ids)).double().numpy() for ids in texts]


def _encode(model: Reference, ids: Any) -> Any:
    x = _rows(model, "token_embd", ids.numpy()) + _rows(model, "position_embd", np.arange(len(ids)))
    x = _norm(model, x + _rows(model, "token_types", np.array([0])), "token_embd_norm")
    for layer in range(model.layers):
        x = _layer(model, x, f"blk.{layer}")
    pooled = {"mean": x.mean(dim=0), "cls": x[0]}[model.pooling]
    return functional.normalize(pooled, dim=0)


def _layer(model: Reference, x: Any, name: str) -> Any:
    def heads(part: str) -> Any:
        return _linear(model, x, f"{name}.{part}").view(len(x), model.heads, -1).transpose(0, 1)

    attended = functional.scaled_dot_product_attention(heads("attn_q"), heads("attn_k"), heads("attn_v"))
    attended = attended.transpose(0, 1).reshape(x.shape)
    y = _norm(model, _linear(model, attended, f"{name}.attn_output") + x, f"{name}.attn_output_norm")
    f = _linear(model, functional.gelu(_linear(model, y, f"{name}.ffn_up")), f"{name}.ffn_down")
    return _norm(model, f + y, f"{name}.layer_output_norm")


def _linear(model: Reference, x: Any, name: str) -> Any:
    return functional.linear(x, *_weights(model, name))


def _norm(model: Reference, x: Any, name: str) -> Any:
    return functional.layer_norm(x, x.shape[-1:], *_weights(model, name), eps=model.epsilon)


def _weights(model: Reference, name: str) -> tuple[Any, Any]:
    weight, bias = model.weights(name)
    return torch.tensor(weight, dtype=torch.float32), torch.tensor(bias, dtype=torch.float32)


def _rows(model: Reference, name: str, rows: NDArray[np.intp]) -> Any:
    return torch.tensor(model.rows(f"{name}.weight", rows), dtype=torch.float32)
