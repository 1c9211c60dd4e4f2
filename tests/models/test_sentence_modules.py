import json
from pathlib import Path
from typing import Any

import pytest

from bankml.errors import ModelError
from bankml.models import sentence_modules

TRANSFORMER, POOLING, NORMALIZE = ("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")


def folder(path: Path, modules: Any, pooling: dict[str, Any] | None = None) -> Path:
    """Modules are pairs of path and type; others are written as they are."""
    if isinstance(modules, list):
        listed = [
            {"idx": at, "path": module[0], "type": f"sentence_transformers.models.{module[1]}"}
            if isinstance(module, tuple)
            else module
            for at, module in enumerate(modules)
        ]
        (path / "modules.json").write_text(json.dumps(listed))
    elif modules is not None:
        (path / "modules.json").write_text(json.dumps(modules))
    if pooling is not None:
        (path / "1_Pooling").mkdir()
        (path / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    return path


@pytest.mark.parametrize("modules", [None, [TRANSFORMER, POOLING, NORMALIZE]])
@pytest.mark.parametrize(
    ("config", "pooling"),
    [
        ({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}, "mean"),
        ({"pooling_mode_cls_token": True, "include_prompt": True}, "cls"),
        ({"pooling_mode_lasttoken": True}, "last"),
        ({"embedding_dimension": 8, "pooling_mode": "cls"}, "cls"),
    ],
)
def test_pooling_is_read(tmp_path: Path, modules: Any, config: dict[str, Any], pooling: str) -> None:
    assert sentence_modules.read(folder(tmp_path, modules, config)).pooling == pooling


@pytest.mark.parametrize(
    "config",
    [
        {"pooling_mode_max_tokens": True},
        {"pooling_mode_weightedmean_tokens": True},
        {"pooling_mode_mean_sqrt_len_tokens": True},
        {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True},
        {"pooling_mode": ["mean", "cls"]},
        {"pooling_mode": "max"},
        {"pooling_mode": 1},
        {},
    ],
)
def test_another_pooling_is_refused_by_name(tmp_path: Path, config: dict[str, Any]) -> None:
    found = [key for key, value in config.items() if value is True] or config.get("pooling_mode", [])
    with pytest.raises(ModelError, match="asks for the pooling") as raised:
        sentence_modules.read(folder(tmp_path, [TRANSFORMER, POOLING], config))
    assert str(found).strip("[]") in str(raised.value)


@pytest.mark.parametrize("modules", [None, [TRANSFORMER], [TRANSFORMER, NORMALIZE]])
def test_no_pooling_is_none(tmp_path: Path, modules: Any) -> None:
    assert sentence_modules.read(folder(tmp_path, modules)).pooling is None


def test_an_older_layout_keeps_the_transformer_in_a_folder(tmp_path: Path) -> None:
    read = sentence_modules.read(folder(tmp_path, [("0_Transformer", "Transformer"), ("x", "Dropout")]))
    assert read.transformer == tmp_path / "0_Transformer"


@pytest.mark.parametrize(
    ("modules", "words"),
    [
        ([TRANSFORMER, POOLING, ("2_Dense", "Dense")], "the module 'Dense' at place 2"),
        ([TRANSFORMER, ("1", "WeightedLayerPooling")], "WeightedLayerPooling"),
        ([POOLING, TRANSFORMER], "the module 'Pooling' at place 0"),
        ([TRANSFORMER, TRANSFORMER], "the module 'Transformer' at place 1"),
        ([{"path": "", "type": "own.Transformer"}], "the module 'own.Transformer'"),
        ([("../x", "Transformer")], "must lie inside"),
        ([("/x", "Transformer")], "must lie inside"),
        ([("\x1b[2J", "Transformer")], r"'\\x1b\[2J': it must lie inside"),
        ([{"path": ""}], "without a type and a path"),
        ([], "not a list of modules"),
        ({"a": 1}, "not a list of modules"),
    ],
)
def test_other_modules_are_refused_by_name(tmp_path: Path, modules: Any, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        sentence_modules.read(folder(tmp_path, modules))


def test_a_shorter_limit_and_a_prompt_are_told(tmp_path: Path) -> None:
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": 256, "do_lower_case": false}')
    prompts = {"prompts": {"query": "query: "}, "default_prompt_name": "query"}
    (tmp_path / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    limit, prompt = sentence_modules.read(tmp_path).notes
    assert "cuts texts at 256 tokens" in limit
    assert "puts 'query: ' before every text" in prompt


@pytest.mark.parametrize("limit", ['"\\u001b[2J"', "true", "[1]", "-1", "0", "1.5", "null", "{}"])
def test_a_limit_that_is_no_count_is_not_told(tmp_path: Path, limit: str) -> None:
    (tmp_path / "sentence_bert_config.json").write_text(f'{{"max_seq_length": {limit}}}')
    assert sentence_modules.read(tmp_path).notes == ()


def test_lower_casing_outside_of_the_tokenizer_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sentence_bert_config.json").write_text('{"do_lower_case": true}')
    with pytest.raises(ModelError, match="do_lower_case"):
        sentence_modules.read(tmp_path)
