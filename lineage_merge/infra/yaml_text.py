"""Safe parser for YAML: a small text must not expand to a large value. It also returns line numbers."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from lineage_merge.model.errors import ConfigError

# Ten lines with aliases can expand to billions of values.
MAX_VALUES = 100_000


# Without dates, which are text: JSON Schema, by which all values are checked, has no other dates.
_RESOLVERS = {
    first: [resolver for resolver in resolvers if resolver[0] != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers = _RESOLVERS


# PyYAML may be installed without libyaml.
class _FastLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    yaml_implicit_resolvers = _RESOLVERS


class ParsedYaml(NamedTuple):
    """A value, and the line of each of its fields by path (``dbt[0].manifest``)."""

    value: Any
    lines: Mapping[str, int]


def parse(text: str, origin: str, key: str = "") -> Any:
    """Parse a YAML text to plain Python values, as `parse_with_lines`, in a seventh of the time."""
    try:
        loader = _FastLoader(text)
        node = loader.get_single_node()
        if node is not None:
            _Tree(origin, key).check(node)
            return loader.construct_document(node)
    except (yaml.YAMLError, ConfigError, ValueError, OverflowError, RecursionError):
        pass  # The other parser describes errors.
    return parse_with_lines(text, origin, key).value


def parse_with_lines(text: str, origin: str, key: str = "") -> ParsedYaml:
    """Parse a YAML text to plain Python values.

    `origin` names the text in messages: a file, an environment variable or a flag, and `key` is then the
    configuration key. Raises `ConfigError` with the line: not YAML, duplicate keys, a recursive anchor, more
    than `MAX_VALUES` values. Of the text, the message contains only names of keys.
    """
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return ParsedYaml(None, {})
        _Tree(origin, key).check(node)
        return ParsedYaml(loader.construct_document(node), dict(_lines(node, "", 1)))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise _error(origin, key, line, _describe(error)) from None
    except (yaml.YAMLError, ValueError, OverflowError):
        # Forbidden characters, invalid numbers.
        raise _error(origin, key, 0, "not YAML") from None
    except RecursionError:
        raise _error(origin, key, 0, "nested too deeply") from None


def _error(origin: str, key: str, line: int, problem: str) -> ConfigError:
    if key:
        return ConfigError(key, f"line {line}: {problem}" if line else problem, origin)
    return ConfigError("", problem, f"{origin}:{line}" if line else origin)


def _describe(error: yaml.MarkedYAMLError) -> str:
    problem = error.problem or "not YAML"
    # These messages may contain a password: to YAML, *text is an alias, &text an anchor and !text a tag.
    if "anchor" in problem:
        return "duplicate anchor; quote text that starts with &"
    if "alias" in problem or "tag" in problem:
        return "unknown alias or tag; quote text that starts with * or !"
    if "'\\t'" in problem:
        return "a tab in the indentation: YAML requires spaces"
    if "mapping values are not allowed" in problem:
        return f"{problem}; check the indentation, and quote text that contains a colon and a space"
    return problem


def _lines(node: Node, path: str, line: int) -> Iterator[tuple[str, int]]:
    """Yield the line of each field below `path`; of several with one path the last one counts."""
    if path:
        yield path, line
    if isinstance(node, SequenceNode):
        for index, child in enumerate(node.value):
            yield from _lines(child, f"{path}[{index}]", child.start_mark.line + 1)
    elif isinstance(node, MappingNode):
        # The value was constructed before, which replaces merge keys (<<) by the keys of their mappings.
        for name, value in node.value:
            if isinstance(name, ScalarNode):
                field = f"{path}.{name.value}" if path else name.value
                yield from _lines(value, field, name.start_mark.line + 1)


class _Tree:
    """Checks of a text's nodes, once per node with any number of aliases."""

    def __init__(self, origin: str, key: str) -> None:
        self._origin = origin
        self._key = key
        self._sizes: dict[int, int | None] = {}
        self._duplicates: list[ConfigError] = []

    def check(self, node: Node) -> None:
        """Raise `ConfigError` for a recursive anchor, too many values, or all duplicate keys."""
        self._size(node)
        if self._duplicates:
            first, *others = self._duplicates
            raise ConfigError(first.key, first.problem, first.origin, tuple(others))

    def _size(self, node: Node) -> int:
        """Return the number of values of a node, with aliases expanded."""
        if id(node) not in self._sizes:
            self._sizes[id(node)] = None
            self._sizes[id(node)] = self._compute_size(node)
        size = self._sizes[id(node)]
        if size is None:
            raise self._problem(node, "an anchor contains itself")
        return size

    def _compute_size(self, node: Node) -> int:
        size = 1
        if isinstance(node, SequenceNode):
            size += sum(self._size(child) for child in node.value)
        elif isinstance(node, MappingNode):
            seen: dict[str, int] = {}
            for name, value in node.value:
                size += self._size(name) + self._size(value)
                if isinstance(name, ScalarNode) and name.value != "<<":
                    if name.value in seen:
                        what = f"duplicate key: {name.value} (also on line {seen[name.value]})"
                        self._duplicates.append(self._problem(name, what))
                    else:
                        seen[name.value] = name.start_mark.line + 1
        if size > MAX_VALUES:
            raise self._problem(node, f"expands to more than {MAX_VALUES:,} values")
        return size

    def _problem(self, node: Node, problem: str) -> ConfigError:
        return _error(self._origin, self._key, node.start_mark.line + 1, problem)
