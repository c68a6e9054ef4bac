"""Safe parser for YAML: a small text must not expand to a large value."""

from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from lineage_merge.model.errors import ConfigError

# Ten lines with aliases can expand to billions of values.
MAX_VALUES = 100_000


def parse(text: str, key: str, location: str) -> Any:
    """Parse a YAML text to plain Python values.

    Raises `ConfigError` for `key` with `location` and line: not YAML, a duplicate key, a recursive anchor,
    more than `MAX_VALUES` values. Of the text, the message contains only names of keys.
    """
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _Tree(key, location).size(node)
        return loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(key, f"{location}{line}: {_describe(error)}") from None
    except (yaml.YAMLError, ValueError, OverflowError):
        # Forbidden characters, invalid dates or numbers.
        raise ConfigError(key, f"{location}: not YAML") from None
    except RecursionError:
        raise ConfigError(key, f"{location}: nested too deeply") from None


def _describe(error: yaml.MarkedYAMLError) -> str:
    problem = error.problem or "not YAML"
    # These messages may contain a password: to YAML, *text is an alias, &text an anchor and !text a tag.
    if "anchor" in problem:
        return "duplicate anchor; quote text that starts with &"
    if "alias" in problem or "tag" in problem:
        return "unknown alias or tag; quote text that starts with * or !"
    return problem


class _Tree:
    """Sizes of nodes, computed once per node with any number of aliases."""

    def __init__(self, key: str, location: str) -> None:
        self._key = key
        self._location = location
        self._sizes: dict[int, int | None] = {}

    def size(self, node: Node) -> int:
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
            size += sum(self.size(child) for child in node.value)
        elif isinstance(node, MappingNode):
            seen: set[str] = set()
            for name, value in node.value:
                size += self.size(name) + self.size(value)
                if isinstance(name, ScalarNode) and name.value != "<<":
                    if name.value in seen:
                        raise self._problem(name, f"duplicate key: {name.value}")
                    seen.add(name.value)
        if size > MAX_VALUES:
            raise self._problem(node, f"expands to more than {MAX_VALUES:,} values")
        return size

    def _problem(self, node: Node, problem: str) -> ConfigError:
        return ConfigError(self._key, f"{self._location}, line {node.start_mark.line + 1}: {problem}")
