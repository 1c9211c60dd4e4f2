"""A tool: what agents are told of it, and what it does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from bankml.errors import InputError
from bankml.mcp.memories import Client, Memories
from bankml.mcp.refusal import refusal
from bankml.mcp.schemas import Schema


class Answer(NamedTuple):
    """`object`: for JSON; `text`: to be read instead, "" where that is the JSON itself."""

    object: dict[str, Any]
    text: str = ""


Work = Callable[[Memories, dict[str, Any], Client], Answer]


@dataclass(frozen=True)
class Tool:
    """`work` is called with arguments that `takes` allows, and raises Error. `writes`: it changes the store."""

    name: str
    title: str
    description: str
    takes: Schema
    gives: Schema
    work: Work
    writes: bool = False

    def answer(self, memories: Memories, arguments: Mapping[str, Any], client: Client) -> Answer:
        """Raises InputError for arguments that will not do, and as `work`.

        null is nothing given, where a tool can do without; 10.0 is 10.
        """
        given = {name: value for name, value in arguments.items() if value is not None or name in self._required}
        if why := refusal(self.takes, given):
            raise InputError(why)
        return self.work(memories, {name: self._exact(name, value) for name, value in given.items()}, client)

    @cached_property
    def _required(self) -> frozenset[str]:
        return frozenset(self.takes["required"])

    def _exact(self, name: str, value: Any) -> Any:
        return int(value) if self.takes["properties"][name]["type"] == "integer" else value
