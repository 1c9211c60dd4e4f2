"""What a preset says is what the engine uses; those of other graphs say why not."""

import json
from pathlib import Path

import pytest

from bankml.embedders import choose
from bankml.library.model import profiles
from bankml.library.model.candidate import candidate
from bankml.library.model.configuration import Configuration
from bankml.library.model.profiles import PROFILES, Profile
from bankml.models import bert_config, pinned, prefixes, presets, short_names
from bankml.models.prefixes import Prefixes
from bankml.settings import Settings
from tests import hub as stub
from tests.library.model.test_candidate import repository

RUN = [profile for profile in PROFILES if not profile.graph]


def test_the_first_is_the_default_and_names_are_each_others() -> None:
    assert PROFILES[0].model == presets.DEFAULT.title
    assert len({profile.name for profile in PROFILES}) == len(PROFILES)
    assert profiles.find(" BGE-M3 ") is profiles.find("bge-m3") is not None
    assert profiles.find("custom") is None
    assert [profiles.of_model(profile.model) for profile in PROFILES] == list(PROFILES)


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_prefixes_are_the_familys(profile: Profile) -> None:
    assert profile.prefixes == prefixes.of(profile.model)


@pytest.mark.parametrize("profile", RUN, ids=lambda profile: profile.name)
def test_what_is_known_of_the_model_is_said(profile: Profile) -> None:
    known = presets.find(profile.model) or pinned.find(profile.model)
    if known:
        assert (profile.dims, profile.pooling, profile.size) == (known.dims, known.pooling, known.size)
    else:
        short = short_names.find(profile.model)
        assert short is not None
        assert short.runs
        assert profile.dims == short.dims


def test_files_that_are_here_are_as_it_is_said(minilm: Path, e5: Path, stocked_home: Path) -> None:
    """Of the file itself, by its own metadata: pooling, type of the weights, dimensions, and the prefixes."""
    for path in (minilm, e5):
        profile = profiles.find(path.name.rpartition("-")[0])
        assert profile is not None
        by_name, by_file = choose(Settings.read(), profile.model), choose(Settings.read(), path)
        for found in (by_name, by_file):
            said = (found.dims, found.dtype, found.pooling, found.document_prefix, found.query_prefix)
            wanted = (profile.dims, profile.dtype, profile.pooling, profile.prefixes.document, profile.prefixes.query)
            assert said == wanted


def test_models_of_a_hub_are_asked_for_by_the_presets_own_names(hub: stub.Hub, tmp_path: Path) -> None:
    """Small ones in their places: found, converted to the type that is said, with the prefixes that are said."""
    files = repository(tmp_path / "r", pooling=True)
    for name, place in (
        ("bge-small-en", "BAAI/bge-small-en-v1.5"),
        ("arctic-embed-2-l", "Snowflake/snowflake-arctic-embed-l-v2.0"),
    ):
        hub.add(place, files)
        profile = profiles.find(name)
        assert profile is not None
        found = candidate(profile.model, Settings.read(), Configuration.read(tmp_path / "kb.db"))
        assert (found.name, found.pooled, found.dtype) == (profile.model, profile.pooling, profile.dtype)
        assert Prefixes(found.document_prefix, found.query_prefix) == profile.prefixes


def test_arctic_embeds_config_is_of_a_graph_that_the_engine_has(tmp_path: Path) -> None:
    """As snowflake-arctic-embed-l-v2.0 is published: XLM-RoBERTa's, bge-m3's shape."""
    published = {
        "architectures": ["XLMRobertaModel"], "attention_probs_dropout_prob": 0.1, "bos_token_id": 0,
        "classifier_dropout": None, "eos_token_id": 2, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
        "hidden_size": 1024, "initializer_range": 0.02, "intermediate_size": 4096, "layer_norm_eps": 1e-05,
        "max_position_embeddings": 8194, "model_type": "xlm-roberta", "num_attention_heads": 16,
        "num_hidden_layers": 24, "output_past": True, "pad_token_id": 1, "position_embedding_type": "absolute",
        "torch_dtype": "float32", "type_vocab_size": 1, "use_cache": True, "vocab_size": 250002,
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(published))
    profile = profiles.find("arctic-embed-2-l")
    assert profile is not None
    found = bert_config.read(tmp_path / "config.json")
    assert (found.hidden, found.context_length) == (profile.dims, 8192)


def test_those_of_other_graphs_are_refused_with_why() -> None:
    refused = {profile.name: profile.refusal for profile in PROFILES if profile.refusal}
    assert set(refused) == {"granite-small-r2", "granite-97m-multilingual", "arctic-embed-m-v2"}
    for name, sentence in refused.items():
        assert name in sentence
        assert "needs support of the engine" in sentence
        assert "multilingual-e5-small" in sentence
        assert "\n" not in sentence
