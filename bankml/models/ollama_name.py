"""A model's name as Ollama reads it: [host/][namespace/]model[:tag]."""

import re
from dataclasses import dataclass

from bankml.errors import InputError

HOST = "registry.ollama.ai"
NAMESPACE = "library"
TAG = "latest"

_HOST = re.compile(r"[a-z0-9_][a-z0-9_.:-]{0,349}", re.IGNORECASE | re.ASCII)
_NAMESPACE = re.compile(r"[a-z0-9_][a-z0-9_-]{0,79}", re.IGNORECASE | re.ASCII)
_MODEL = re.compile(r"[a-z0-9_][a-z0-9_.-]{0,79}", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True)
class OllamaName:
    """The four parts, each of which is safe as a folder's name."""

    host: str
    namespace: str
    model: str
    tag: str

    @classmethod
    def parse(cls, text: str) -> "OllamaName":
        """The name with the parts that `text` leaves out filled in. Raises InputError for what is no name."""
        path, tag = _split_tag(text)
        parts = path.split("/")
        if len(parts) > 3:
            raise InputError(
                f"{text!r} is not a model name: it has {len(parts)} parts, host/namespace/model:tag at most"
            )
        host, namespace, model = ([HOST, NAMESPACE][: 3 - len(parts)] + parts)[:3]
        name = cls(host, namespace, model, tag)
        if wrong := name.invalid_part():
            raise InputError(
                f"{text!r} is not a model name: its {wrong[0]} {wrong[1]!r} must be letters, digits, - or _ and short "
                "(a dot may stand in host, model and tag), as in bge-m3:latest"
            )
        return name

    def invalid_part(self) -> tuple[str, str] | None:
        """The first part that breaks the rules, with what it is called; None for a valid name."""
        rules = {"host": _HOST, "namespace": _NAMESPACE, "model": _MODEL, "tag": _MODEL}
        return next(((part, value) for part, value in vars(self).items() if not rules[part].fullmatch(value)), None)

    @property
    def parts(self) -> tuple[str, str, str, str]:
        """Host, namespace, model, tag: the folders of its manifest."""
        return (self.host, self.namespace, self.model, self.tag)

    def matches(self, other: "OllamaName") -> bool:
        """The same model: case does not count."""
        return [part.casefold() for part in self.parts] == [part.casefold() for part in other.parts]

    def __str__(self) -> str:
        """As `ollama list` shows it: without the host and the namespace that go without saying."""
        short = f"{self.model}:{self.tag}"
        if self.host.casefold() != HOST:
            return f"{self.host}/{self.namespace}/{short}"
        return short if self.namespace.casefold() == NAMESPACE else f"{self.namespace}/{short}"


def _split_tag(text: str) -> tuple[str, str]:
    """A colon in the last part opens the tag; one before is the host's port."""
    before, colon, tag = text.rpartition(":")
    return (before, tag) if colon and "/" not in tag else (text, TAG)
