"""YAML as people write it, read with care: a small text must not become a large thing."""

from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from lineage_merge.model.errors import ConfigError

# Anchors and aliases are welcome, but ten lines of them can stand for billions of values.
MOST_VALUES = 100_000


def parse(text: str, key: str, place: str) -> Any:
    """What a YAML text says, as plain Python values.

    Raises `ConfigError` for `key`, which names `place` and the line: not YAML, a key that
    stands twice in one mapping, an anchor inside itself, more than `MOST_VALUES` values.
    The message holds nothing of the text but names of keys.
    """
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _Tree(key, place).size(node)
        return loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(key, f"{place}{line}: {_said(error)}") from None
    except (yaml.YAMLError, ValueError, OverflowError):
        # Characters that YAML forbids; a date or a number that there is not.
        raise ConfigError(key, f"{place}: not YAML") from None
    except RecursionError:
        raise ConfigError(key, f"{place}: nested too deeply") from None


def _said(error: yaml.MarkedYAMLError) -> str:
    problem = error.problem or "not YAML"
    # These repeat what may be a password: to YAML, *text is an alias, &text an anchor and !text a tag.
    if "anchor" in problem:
        return "a duplicate anchor; put text that begins with & in quotes"
    if "alias" in problem or "tag" in problem:
        return "an alias or a tag that YAML does not know; put text that begins with * or ! in quotes"
    return problem


class _Tree:
    """Sizes of nodes, each worked out once however many aliases lead to it."""

    def __init__(self, key: str, place: str) -> None:
        self._key = key
        self._place = place
        self._sizes: dict[int, int | None] = {}

    def size(self, node: Node) -> int:
        """How many values a node stands for, aliases followed."""
        if id(node) not in self._sizes:
            self._sizes[id(node)] = None
            self._sizes[id(node)] = self._sized(node)
        size = self._sizes[id(node)]
        if size is None:
            raise self._problem(node, "an anchor is used inside itself")
        return size

    def _sized(self, node: Node) -> int:
        size = 1
        if isinstance(node, SequenceNode):
            size += sum(self.size(child) for child in node.value)
        elif isinstance(node, MappingNode):
            seen: set[str] = set()
            for name, value in node.value:
                size += self.size(name) + self.size(value)
                if isinstance(name, ScalarNode) and name.value != "<<":
                    if name.value in seen:
                        raise self._problem(name, f"the key {name.value} stands twice")
                    seen.add(name.value)
        if size > MOST_VALUES:
            raise self._problem(node, f"stands for more than {MOST_VALUES:,} values")
        return size

    def _problem(self, node: Node, problem: str) -> ConfigError:
        return ConfigError(self._key, f"{self._place}, line {node.start_mark.line + 1}: {problem}")
