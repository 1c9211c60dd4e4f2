"""A Hugging Face tokenizer.json: its parts, and a refusal by name of what the engine does not reproduce."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bankml.errors import ModelError
from bankml.models import json_object

REMEDY = "run this model with the library that it was made for"


@dataclass(frozen=True)
class AddedToken:
    """An entry of `added_tokens`; a special one is no text."""

    id: int
    text: str
    special: bool


@dataclass(frozen=True)
class TokenizerJson:
    """The file's content. What is asked of it raises ModelError when it is damaged or not as the engine has it."""

    path: Path
    content: dict[str, Any]

    @property
    def kind(self) -> str:
        """ "WordPiece", "Unigram", or what else its model says."""
        match self.content.get("model"):
            case {"type": str(kind)}:
                return kind
            case {"merges": _}:
                return "BPE"
            case {"vocab": dict()}:
                return "WordPiece"
        return "Unigram"

    def option(self, key: str) -> Any:
        """A setting of the model; None when absent."""
        model = self.content.get("model")
        return model.get(key) if isinstance(model, dict) else None

    def steps(self, part: str) -> list[dict[str, Any]]:
        """The normalizer's or pre_tokenizer's steps, those of a sequence one by one."""
        whole = self.content.get(part)
        listed = [] if whole is None else [whole]
        if isinstance(whole, dict):
            listed = whole.get("normalizers" if part == "normalizer" else "pretokenizers", listed)
        if not isinstance(listed, list) or not all(isinstance(step, dict) for step in listed):
            raise self.error(f"its {part} is not a step or a sequence of steps")
        return listed

    @property
    def added(self) -> list[AddedToken]:
        """By id. A token that is not special is refused: it would be looked for inside of words."""
        found, listed = [], self.content.get("added_tokens") or []
        for entry in listed if isinstance(listed, list) else [listed]:
            match entry:
                case {"id": int(number), "content": str(text)}:
                    found.append(AddedToken(number, text, bool(entry.get("special"))))
                case _:
                    raise self.error(f"its added token {entry!r} has no id and content")
        if plain := [token.text for token in found if not token.special]:
            raise self.unsupported("added token that is not special", plain[0])
        return sorted(found, key=lambda token: token.id)

    def with_added(self, pieces: list[str]) -> list[str]:
        """The vocabulary with the added tokens that stand behind it."""
        pieces = list(pieces)
        for token in self.added:
            if token.id == len(pieces):
                pieces.append(token.text)
            elif not 0 <= token.id < len(pieces) or pieces[token.id] != token.text:
                raise self.error(
                    f"its added token {token.text!r} has the id {token.id}, where another piece or none is"
                )
        return pieces

    def check_pieces(self, pieces: list[str]) -> None:
        """Refuses half of a surrogate pair, which no text holds and UTF-8 cannot store."""
        try:
            "".join(pieces).encode()
        except UnicodeEncodeError as error:
            raise self.error(f"a piece of its vocabulary is not Unicode ({error.reason})") from None

    def check_ends(self, opening: str, closing: str) -> None:
        """Refuses a post-processor that does not put just these two around a text."""
        match self.content.get("post_processor"):
            case {"type": "TemplateProcessing", "single": list(parts)}:
                found = [_name(part) for part in parts]
                right = found == [opening, "A", closing]
            case {"type": "RobertaProcessing" | "BertProcessing" as found, "cls": [str(cls), _], "sep": [str(sep), _]}:
                right = (cls, sep) == (opening, closing)
            case found:
                right = False
        if not right:
            raise self.unsupported("post_processor", found)

    def unsupported(self, part: str, found: object) -> ModelError:
        """The error for a part that the engine does not have."""
        shown = repr(found)
        return ModelError(
            f"{self.path} has the {part} {shown[:200]}, which the engine does not reproduce: its tokens would be other "
            f"ones; {REMEDY}"
        )

    def error(self, what: str) -> ModelError:
        """The error for a damaged file."""
        return ModelError(f"{self.path}: {what}; fetch it again")


def _name(part: object) -> str:
    """Of a template's part: a special token's text, "A" for the text itself."""
    match part:
        case {"SpecialToken": {"id": str(name)}} | {"Sequence": {"id": str(name)}}:
            return name
    return repr(part)


def read(path: Path) -> TokenizerJson:
    """The file at `path`. Raises ModelError when it is not a JSON object."""
    return TokenizerJson(path, json_object.read(path))
