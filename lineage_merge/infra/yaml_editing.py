"""Changes of one value in a YAML text, which leave its comments and layout as they are. Pure.

Each change is made at several places that may be right, and the result is parsed: the first one that has
exactly the expected value, and no other change, is returned.
"""

from collections.abc import Callable, Iterator, Sequence
from textwrap import indent
from typing import Any, NamedTuple

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from lineage_merge.infra import yaml_text
from lineage_merge.infra.json_schema import path_text
from lineage_merge.model.errors import ConfigError

# Keys of mappings and positions in sequences.
Path = Sequence[str | int]
_INDENT = 2
_CONTENT = (
    yaml.ScalarToken,
    yaml.AliasToken,
    yaml.ValueToken,
    yaml.FlowSequenceEndToken,
    yaml.FlowMappingEndToken,
)


def append(text: str, path: Path, item: Any) -> str:
    """Return the text with one more item in the list at `path`, which may be missing.

    Raises `ConfigError`: aliases, tabs, or another structure.
    """

    def change(value: Any) -> None:
        parent = _make_at(value, path[:-1])
        parent[path[-1]] = [*(parent.get(path[-1]) or ()), item]

    return _edit(text, path, [item], change, _append)


def assign(text: str, path: Path, new: Any) -> str:
    """Return the text with another value at `path`, which may be missing. Raises `ConfigError`."""

    def change(value: Any) -> None:
        _make_at(value, path[:-1])[path[-1]] = new

    return _edit(text, path, new, change, _replace)


def rename(text: str, path: Path, name: str) -> str:
    """Return the text with another name of the key at `path`. Raises `ConfigError`."""

    def change(value: Any) -> None:
        parent = _make_at(value, path[:-1])
        parent[name] = parent.pop(path[-1])

    def candidates(text: str, places: "_Places", node: Node, _value: Any) -> Iterator[str]:
        parent = places.find(path[:-1])
        for key, child in parent.value if isinstance(parent, MappingNode) else ():
            if child is node:
                yield _replace_node(text, key, _flow(name))

    return _edit(text, path, None, change, candidates)


def _make_at(value: Any, path: Path) -> Any:
    """Return the value at a path, where missing and empty mappings are made."""
    for part in path:
        if isinstance(part, str) and value.get(part) is None:
            value[part] = {}
        value = value[part]
    return value


class _Places(NamedTuple):
    """The nodes of a text, and its tokens, which have the places of aliases and empty values."""

    root: Node | None
    tokens: Sequence[Any]

    def find(self, path: Path) -> Node | None:
        """Return the node at a path; None: it is missing."""
        node = self.root
        for part in path:
            if isinstance(node, MappingNode):
                node = next((child for key, child in node.value if key.value == part), None)
            elif isinstance(node, SequenceNode) and isinstance(part, int) and part < len(node.value):
                node = node.value[part]
            else:
                return None
        return node

    def end(self, node: Node, before: int | None = None) -> int:
        """Return the end of the content of a node, without comments and blank lines after it."""
        start, end = node.start_mark.index, node.end_mark.index if before is None else before
        ends = (token.end_mark.index for token in self.tokens if isinstance(token, _CONTENT))
        return max((position for position in ends if start <= position <= end), default=end)

    def first_dash(self, node: Node) -> int:
        """Return the column of the items of a block sequence."""
        dashes = (token.start_mark for token in self.tokens if isinstance(token, yaml.BlockEntryToken))
        return next((int(mark.column) for mark in dashes if mark.index >= node.start_mark.index), 0)


# Yields texts with a change of a node.
_Candidates = Callable[[str, _Places, Node, Any], Iterator[str]]


def _edit(text: str, path: Path, value: Any, change: Callable[[Any], None], at_node: _Candidates) -> str:
    try:
        # Without aliases: a change of one value must not change others.
        expected = _copy_without_aliases(yaml_text.parse(text, "") or {})
        change(expected)
        places = _Places(yaml.compose(text, yaml.SafeLoader), tuple(yaml.scan(text, yaml.SafeLoader)))
    except (ConfigError, yaml.YAMLError, AttributeError, IndexError, KeyError, TypeError):
        # Not YAML, or of another structure than the path.
        raise _not_editable(path) from None
    for candidate in _candidates(text, places, path, value, at_node):
        try:
            if yaml_text.parse(candidate, "") == expected:
                return candidate
        except ConfigError:
            continue
    raise _not_editable(path)


def _not_editable(path: Path) -> ConfigError:
    return ConfigError(path_text([*path]), "cannot be changed alone in the layout of the file")


def _copy_without_aliases(value: Any) -> Any:
    """Return a copy in which no part is the same object as another."""
    if isinstance(value, dict):
        return {key: _copy_without_aliases(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_copy_without_aliases(child) for child in value]
    return value


def _candidates(text: str, places: _Places, path: Path, value: Any, at_node: _Candidates) -> Iterator[str]:
    node = places.find(path)
    if node is not None and not _is_null(node):
        yield from at_node(text, places, node, value)
        return
    # The deepest parent that exists gets a key with all that is missing.
    parents = ((depth, places.find(path[:depth])) for depth in range(len(path)))
    existing = [(depth, parent) for depth, parent in parents if parent is not None and not _is_null(parent)]
    if not existing:
        yield _insert(text, len(text), _block(_nest(path, value), 0, _newline(text)))
        return
    depth, parent = existing[-1]
    empty, missing = places.find(path[: depth + 1]), _nest(path[depth + 1 :], value)
    if empty is None:
        yield from _add(text, places, parent, {path[depth]: missing})
    else:
        yield from _replace(text, places, empty, missing)
        yield from _insert_below(text, parent, str(path[depth]), missing)


def _nest(path: Path, value: Any) -> Any:
    for part in reversed(path):
        value = {part: value}
    return value


def _is_null(node: Node | None) -> bool:
    return isinstance(node, ScalarNode) and node.tag == "tag:yaml.org,2002:null"


def _insert_below(text: str, parent: Node, key: str, value: Any) -> Iterator[str]:
    """Yield the text with a block below a key without a value."""
    for name, _ in parent.value:
        if name.value == key:
            line = _line_end(text, name.end_mark.index)
            yield _insert(text, line, _block(value, name.start_mark.column + _INDENT, _newline(text)))


def _replace(text: str, places: _Places, node: Node, value: Any) -> Iterator[str]:
    if node.start_mark.index < node.end_mark.index:
        yield _replace_node(text, node, _flow(value))


def _append(text: str, places: _Places, node: Node, value: Any) -> Iterator[str]:
    """Yield the text with the items in a sequence."""
    if not isinstance(node, SequenceNode):
        return
    if node.flow_style:
        yield _add_in_brackets(text, places, node, _flow(value)[1:-1])
        return
    column = places.first_dash(node)
    yield _insert(text, _line_end(text, places.end(node)), _block(value, column, _newline(text)))


def _add(text: str, places: _Places, node: Node, value: Any) -> Iterator[str]:
    """Yield the text with the keys in a mapping: at its end, or before its first key."""
    if not isinstance(node, MappingNode):
        return
    if node.flow_style:
        yield _add_in_brackets(text, places, node, _flow(value)[1:-1])
        return
    first = node.value[0][0].start_mark
    block = _block(value, first.column, _newline(text))
    yield _insert(text, _line_end(text, places.end(node)), block)
    yield text[: first.index] + block.lstrip(" ") + " " * first.column + text[first.index :]


def _add_in_brackets(text: str, places: _Places, node: Node, added: str) -> str:
    """Return the text with more in a sequence or mapping in brackets, after its last value."""
    closing = node.end_mark.index - 1
    if not node.value:
        return text[:closing] + added + text[closing:]
    end = places.end(node, closing)
    return f"{text[:end]}, {added}{text[end:]}"


def _replace_node(text: str, node: Node, new: str) -> str:
    return text[: node.start_mark.index] + new + text[node.end_mark.index :]


def _line_end(text: str, index: int) -> int:
    """Return the end of the line of a place, after its line break."""
    if index and text[index - 1] == "\n":  # a block of text ends after it
        return index
    end = text.find("\n", index)
    return len(text) if end < 0 else end + 1


def _insert(text: str, index: int, block: str) -> str:
    return _end_line(text[:index]) + block + text[index:]


def _end_line(text: str) -> str:
    return text if not text or text.endswith("\n") else text + _newline(text)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _block(value: Any, column: int, newline: str) -> str:
    dumped = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=10_000)
    return indent(dumped, " " * column).replace("\n", newline)


def _flow(value: Any) -> str:
    dumped = yaml.safe_dump(
        value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=float("inf")
    )
    return dumped.removesuffix("\n").removesuffix("\n...")
