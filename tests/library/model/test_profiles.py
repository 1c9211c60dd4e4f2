"""What a preset says is what the engine uses; those of other graphs say why not."""

from pathlib import Path

import pytest

from bankml.embedders import choose
from bankml.library.model import profiles
from bankml.library.model.profiles import PROFILES, Profile
from bankml.models import pinned, prefixes, presets, short_names
from bankml.settings import Settings

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


def test_those_of_other_graphs_are_refused_with_why() -> None:
    refused = {profile.name: profile.refusal for profile in PROFILES if profile.refusal}
    assert set(refused) == {"granite-small-r2", "granite-97m-multilingual", "arctic-embed-m-v2"}
    for name, sentence in refused.items():
        assert name in sentence
        assert "needs support of the engine" in sentence
        assert "multilingual-e5-small" in sentence
        assert "\n" not in sentence
