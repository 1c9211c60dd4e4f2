"""JSON → its values by their keys, each object under the key that it has."""

from bankml.documents.assembly import Assembly
from bankml.documents.extracted import Extracted
from bankml.documents.json_tree import Branch, Leaf, Node, tree
from bankml.documents.plain import plain
from bankml.documents.rows import jsonl, pair
from bankml.documents.titles import of_file, shortened
from bankml.errors import DocumentError

DEEPEST = 6  # level of a heading
KEY = 200  # characters


def json_document(name: str, text: str, notes: tuple[str, ...]) -> Extracted:
    """Of what is no JSON: JSON lines if that is what it is, else its text as it stands.

    Raises DocumentError where it has too many values.
    """
    try:
        root = tree(text)
    except DocumentError:
        raise
    except ValueError as error:
        lines = jsonl(name, text, notes)
        good = sum(block.kind == "row" for block in lines.blocks)
        if good > 1 and 2 * good > text.count("\n"):
            return lines
        return plain(name, text, (*notes, f"no JSON ({shortened(str(error))}): read as text"))
    assembly = Assembly()
    _write(assembly, root)
    return assembly.extracted("json", of_file(name), notes)


def _write(assembly: Assembly, root: Node) -> None:
    """A key, what it has itself, then what is below it: so that a heading holds for all that follows it."""
    left: list[tuple[str, Node, int]] = [("", root, 0)]
    while left:
        key, node, depth = left.pop()
        assembly.add(key, "heading", min(depth, DEEPEST), node.line)
        if isinstance(node, Leaf):
            assembly.add(node.text, "row", line=node.line)
            continue
        nested = []
        lines: list[str] = []
        line = None
        for number, (name, member) in enumerate(node.members):
            if not node.is_object and isinstance(member, Branch) and member.is_object and _is_flat(member):
                assembly.add(
                    "\n".join(filter(None, (pair(name, _text(one)) for name, one in member.members))),
                    "row",
                    line=member.line,
                )
            elif (text := _text(member)) is not None:
                line = line or member.line
                lines.append(pair(name, text))
            else:
                nested.append((_key(name) if node.is_object else f"{key.split('[')[0]}[{number}]", member, depth + 1))
        assembly.add("\n".join(filter(None, lines)), "row", line=line)
        left.extend(reversed(nested))


def _key(name: str) -> str:
    """As a heading, which the members of an array repeat."""
    return name.strip()[:KEY] or "-"


def _is_flat(branch: Branch) -> bool:
    return all(_text(member) is not None for _, member in branch.members)


def _text(node: Node) -> str | None:
    """Of a value, or of an array of such; None of what needs more room."""
    if isinstance(node, Leaf):
        return node.text
    if node.is_object or not all(isinstance(member, Leaf) for _, member in node.members):
        return None if node.members else ""
    return ", ".join(member.text for _, member in node.members if isinstance(member, Leaf))
