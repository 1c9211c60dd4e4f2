"""BERT's vocabulary, from tokenizer.json or vocab.txt to the `tokenizer.ggml.*` keys."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bankml.errors import ModelError
from bankml.gguf_numbers import CONTROL, NORMAL, UNUSED
from bankml.models import json_object, regular_file, tokenizer_json
from bankml.models.tokenizer_json import TokenizerJson

if TYPE_CHECKING:
    from gguf import GGUFWriter

SPECIAL = {
    "[PAD]": "padding",
    "[UNK]": "unknown",
    "[CLS]": "cls",
    "[SEP]": "seperator",
    "[MASK]": "mask",
}  # ggml's spelling
NAMES = {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
SETTINGS = {"tokenize_chinese_chars": True, "do_basic_tokenize": True, "never_split": False}
SLOW = ("BertTokenizer", "BertTokenizerFast", None)  # tokenizer classes that read vocab.txt as BERT does
LETTERS_MAX = 100  # of a word, in the engine


@dataclass(frozen=True)
class WordPiece:
    """Tokens as vocab.txt spells them, padded to the rows of the table; the types of those that are no text."""

    tokens: list[str]
    types: list[int]
    lowercase: bool = True
    strip_accents: bool = True


def read_wordpiece(folder: Path, rows: int) -> WordPiece:
    """The vocabulary of `folder`, filled up to `rows` entries: llama.cpp demands as many as the embedding has rows.

    tokenizer.json is read where there is one, else vocab.txt. Raises ModelError when there is neither, when it is not
    WordPiece, or when the engine would make other tokens of a text.
    """
    fast = folder / "tokenizer.json"
    settings = json_object.read_if_there(folder / "tokenizer_config.json")
    _check_settings(folder, settings)
    if fast.exists():
        tokens, special, stated = _fast(tokenizer_json.read(fast))
    else:
        tokens, special, stated = _slow(folder, settings), list(SPECIAL), {}
    path = fast if fast.exists() else folder / "vocab.txt"
    _check(path, tokens, rows)
    lowercase, strip_accents = _letters(folder, settings, stated)
    missing = range(len(tokens), rows)
    controls = {*SPECIAL, *special}
    return WordPiece(
        tokens + [f"[PAD{index}]" for index in missing],
        [CONTROL if token in controls else NORMAL for token in tokens] + [UNUSED for _ in missing],
        lowercase,
        strip_accents,
    )


def add_wordpiece(wordpiece: WordPiece, writer: "GGUFWriter") -> None:
    """Writes the keys; ggml calls this kind of tokenizer bert."""
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([stored_form(token) for token in wordpiece.tokens])
    writer.add_token_types(wordpiece.types)
    for token, role in SPECIAL.items():
        writer.add_uint32(f"tokenizer.ggml.{role}_token_id", wordpiece.tokens.index(token))
    writer.add_uint32("tokenizer.ggml.bos_token_id", wordpiece.tokens.index("[CLS]"))
    writer.add_uint32("tokenizer.ggml.eos_token_id", wordpiece.tokens.index("[SEP]"))
    writer.add_bool("tokenizer.ggml.normalizer.lowercase", wordpiece.lowercase)
    if wordpiece.strip_accents != wordpiece.lowercase:  # where the key is absent they are the same
        writer.add_bool("tokenizer.ggml.normalizer.strip_accents", wordpiece.strip_accents)


def stored_form(token: str) -> str:
    """A word's start is marked in GGUF, in WordPiece its continuation is; bracketed tokens stay as they are."""
    if token.startswith("[") and token.endswith("]"):
        return token
    return token[2:] if token.startswith("##") else "▁" + token


def _fast(file: TokenizerJson) -> tuple[list[str], list[str], dict[str, Any]]:
    """Tokens, those that are special, and what the normalizer does to letters."""
    if file.kind != "WordPiece":
        raise file.unsupported("model", file.kind)
    for key, right in {"unk_token": "[UNK]", "continuing_subword_prefix": "##"}.items():
        if (found := file.option(key)) != right:
            raise file.unsupported(key, found)
    if (found := file.option("max_input_chars_per_word")) not in (None, LETTERS_MAX):
        raise file.unsupported("max_input_chars_per_word", found)
    if [step.get("type") for step in file.steps("pre_tokenizer")] != ["BertPreTokenizer"]:
        raise file.unsupported("pre_tokenizer", file.content.get("pre_tokenizer"))
    file.check_ends("[CLS]", "[SEP]")
    tokens = file.with_added(_by_id(file))
    file.check_pieces(tokens)
    return tokens, [token.text for token in file.added], _normalizer(file)


def _by_id(file: TokenizerJson) -> list[str]:
    vocabulary = file.option("vocab")
    if isinstance(vocabulary, dict) and all(type(index) is int for index in vocabulary.values()):
        tokens = sorted(vocabulary, key=vocabulary.__getitem__)
        if all(vocabulary[token] == index for index, token in enumerate(tokens)):
            return tokens
    raise file.error("its vocabulary does not give each token an id, from 0 on without a gap")


def _normalizer(file: TokenizerJson) -> dict[str, Any]:
    match file.steps("normalizer"):
        case [{"type": "BertNormalizer"} as step] if step.get("clean_text", True) and step.get(
            "handle_chinese_chars", True
        ):
            return step
    raise file.unsupported("normalizer", file.content.get("normalizer"))


def _letters(folder: Path, settings: dict[str, Any], stated: dict[str, Any]) -> tuple[bool, bool]:
    """Whether letters are lower-cased and lose their accents; both files must say the same where both say it."""
    lowercase = _agreed(folder, "lowercase", settings.get("do_lower_case"), stated.get("lowercase"), True)
    accents = _agreed(folder, "strip_accents", settings.get("strip_accents"), stated.get("strip_accents"), lowercase)
    return lowercase, accents


def _agreed(folder: Path, what: str, setting: object, stated: object, assumed: bool) -> bool:
    said = {bool(value) for value in (setting, stated) if value is not None}
    if len(said) > 1:
        raise ModelError(
            f"{folder} contradicts itself: {what} is {setting!r} in tokenizer_config.json and {stated!r} in "
            "tokenizer.json; keep the one that the model was trained with"
        )
    return said.pop() if said else assumed


def _check_settings(folder: Path, settings: dict[str, Any]) -> None:
    for key, right in SETTINGS.items():
        if bool(settings.get(key, right)) is not right:
            raise _setting(folder, key, settings[key])
    named = settings | json_object.read_if_there(folder / "special_tokens_map.json")
    for key, token in NAMES.items():
        found = named.get(key, token)
        if (found.get("content") if isinstance(found, dict) else found) != token:
            raise _setting(folder, key, found)


def _setting(folder: Path, key: str, found: object) -> ModelError:
    return ModelError(
        f"{folder}: its tokenizer's settings say {key} {found!r}, which the engine does not reproduce; "
        f"{tokenizer_json.REMEDY}"
    )


def _slow(folder: Path, settings: dict[str, Any]) -> list[str]:
    path = folder / "vocab.txt"
    if not path.exists():
        raise ModelError(
            f"{folder} has no tokenizer.json and no vocab.txt: fetch them, or save the tokenizer again with "
            "AutoTokenizer.from_pretrained(…).save_pretrained(…)"
        )
    if (kind := settings.get("tokenizer_class")) not in SLOW:
        raise ModelError(
            f"{folder} has a vocabulary for {kind!r} and no tokenizer.json that says how it cuts words: only "
            f"{SLOW[0]} is known without it"
        )
    try:
        with open(regular_file.opened(path), encoding="utf-8") as file:
            return file.read(json_object.MAX_BYTES).removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{path} cannot be read as the vocabulary ({error}): fetch it again") from None


def _check(path: Path, tokens: Sequence[str], rows: int) -> None:
    different = len({stored_form(token) for token in tokens})
    if len(tokens) > rows or different != len(tokens):
        raise ModelError(
            f"{path} has {different} different tokens of {len(tokens)}, the weights {rows} rows: fetch both again"
        )
    if missing := SPECIAL.keys() - set(tokens):
        raise ModelError(f"{path} lacks {sorted(missing)}: it is not a WordPiece vocabulary")
