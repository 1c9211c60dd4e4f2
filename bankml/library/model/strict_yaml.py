"""PyYAML's safe loader without what a configuration never needs and an attacker does."""

from collections.abc import Hashable
from typing import Any

import yaml


class StrictLoader(yaml.SafeLoader):
    """Refuses aliases (nine lines of them unfold to a billion values), merged keys, and a key that stands twice."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """As SafeLoader's. Raises ComposerError at an alias."""
        if self.check_event(yaml.AliasEvent):
            alias = self.get_event()  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(None, None, "an alias (*…): write the value out", alias.start_mark)
        return super().compose_node(parent, index)

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Nothing is merged by `<<`, and no tag of its kind can be constructed."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """As SafeLoader's. Raises ConstructorError at the second of two equal keys."""
        made = super().construct_mapping(node, deep)
        if len(made) < len(node.value):
            seen: set[Hashable] = set()
            for key_node, _ in node.value:
                key = self.construct_object(key_node, deep=True)
                if key in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key {key!r} stands twice: keep one", key_node.start_mark
                    )
                seen.add(key)
        return made
