"""Syntax trees that Hive's lineage prints for window functions. Pure.

``(tok_function sum (. (tok_table_or_col t) x) (tok_windowspec ...))``: their column references, and their
conversion to readable text.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from lineage_merge.column_lineage.transformations import Transformation
from lineage_merge.sources.hive.tokens import AGGREGATES, Token, closing, opens_tree, tokens

TRANSFORMATION = Transformation.TRANSFORMATION
AGGREGATION = Transformation.AGGREGATION
CONDITIONAL = Transformation.CONDITIONAL
WINDOW = Transformation.WINDOW

Steps = tuple[Transformation, ...]
_FUNCTIONS = ("tok_function", "tok_functiondi", "tok_functionstar")
# Deeper trees are not converted: they would not be readable.
_MAX_DEPTH = 100
_ALL_ROWS = "2147483647"


@dataclass(slots=True)
class _Node:
    """A node of a printed syntax tree: a word, or a list whose first item is its head."""

    word: str = ""
    items: list["_Node"] = field(default_factory=list)

    @property
    def head(self) -> str:
        return self.items[0].word if self.items else self.word


def uses(found: Sequence[Token]) -> Iterator[tuple[tuple[str, ...], Steps]]:
    """Yield each column in a tree, by its parts, with the steps of its value, outermost first."""
    # Not recursive: nesting depth is unlimited.
    root, _ = _tree(found)
    waiting: list[tuple[_Node, Steps]] = [(item, ()) for item in reversed(root.items)]
    while waiting:
        node, around = waiting.pop()
        parts = _column(node)
        if parts:
            yield parts, around
            continue
        waiting.extend(reversed([(child, (*around, step)) for child, step in _children(node)]))


def readable(text: str) -> str:
    """Return an expression with its trees as readable text: ``sum(x) over (partition by y)``."""
    found = tokens(text)
    parts: list[str] = []
    index = written = 0
    while index < len(found):
        if not opens_tree(found, index):
            index += 1
            continue
        end = closing(found, index)
        root, depth = _tree(found[index:end])
        # Unchanged if it was truncated, or if a string in it only looks like a tree.
        if depth <= _MAX_DEPTH and found[end - 1].text == ")" and root.items[0].head in _FUNCTIONS:
            parts += [text[written : found[index].start], " ".join(map(_text, root.items))]
            written = found[end - 1].end
        index = end
    return "".join([*parts, text[written:]])


def _tree(found: Sequence[Token]) -> tuple[_Node, int]:
    """Return a tree below an artificial root, and its depth."""
    root = _Node()
    above = [root]
    depth = 0
    for token in found:
        if token.kind == "other" and token.text == "(":
            node = _Node()
            above[-1].items.append(node)
            above.append(node)
            depth = max(depth, len(above))
        elif token.kind == "other" and token.text == ")" and len(above) > 1:
            above.pop()
        else:
            above[-1].items.append(_Node(token.text))
    return root, depth


def _column(node: _Node) -> tuple[str, ...]:
    """Return the parts of ``(. (tok_table_or_col t) c)`` or ``(tok_table_or_col c)``; else an empty tuple."""
    if node.head == "tok_table_or_col" and len(node.items) > 1:
        return (node.items[1].word,)
    if node.head == "." and len(node.items) > 2:
        before = _column(node.items[1])
        return (*before, node.items[2].word) if before else ()
    return ()


def _children(node: _Node) -> list[tuple[_Node, Transformation]]:
    """Return the children of a node that may reference columns, each with its step to the node's value."""
    head = node.head
    if head in _FUNCTIONS and len(node.items) > 1:
        name, arguments = node.items[1].word, node.items[2:]
        return [(each, _step(name, index, arguments)) for index, each in enumerate(arguments)]
    if head == "tok_windowspec":
        return [(item, WINDOW) for item in node.items[1:]]
    return [(item, TRANSFORMATION) for item in node.items if item.items]


def _step(name: str, index: int, arguments: Sequence[_Node]) -> Transformation:
    if arguments[index].head == "tok_windowspec":
        return WINDOW
    count = sum(argument.head != "tok_windowspec" for argument in arguments)
    if name in AGGREGATES:
        return AGGREGATION
    if name == "if":
        return CONDITIONAL if index == 0 else TRANSFORMATION
    if name in ("when", "case"):
        # WHEN: condition, value, ..., ELSE. CASE has the compared value first.
        position = index - (name == "case")
        is_last = index == count - 1 and position % 2 == 0
        return TRANSFORMATION if is_last or position % 2 == 1 else CONDITIONAL
    return TRANSFORMATION


def _text(node: _Node) -> str:
    if not node.items:
        return {"tok_null": "null", "tok_allcolref": "*"}.get(node.word, node.word)
    parts = _column(node)
    if parts:
        # Names that Hive's optimizer generates for subqueries are left out.
        return ".".join([*(part for part in parts[:-1] if not part.startswith("$")), parts[-1]])
    head, children = node.head, node.items[1:]
    shown = _CLAUSES.get(head)
    if shown:
        return shown(children)
    if head in _FUNCTIONS and children:
        return _function(head, children[0].word, children[1:])
    if not head or len(head) > 3 or head[0].isalpha():
        return f"{head}({', '.join(map(_text, children))})"
    operands = [_text(child) for child in children]
    return f"({f' {head} '.join(operands)})" if len(operands) > 1 else f"{head}{''.join(operands)}"


def _function(head: str, name: str, arguments: Sequence[_Node]) -> str:
    window = [_text(argument) for argument in arguments if argument.head == "tok_windowspec"]
    taken = [_text(argument) for argument in arguments if argument.head != "tok_windowspec"]
    if head == "tok_functionstar":
        taken = ["*"]
    distinct = "distinct " if head == "tok_functiondi" else ""
    return f"{name}({distinct}{', '.join(taken)}){''.join(f' over ({each})' for each in window)}"


def _listed(before: str, after: str = "", between: str = ", ") -> Callable[[Sequence[_Node]], str]:
    return lambda children: f"{before}{between.join(filter(None, map(_text, children)))}{after}"


def _range(children: Sequence[_Node]) -> str:
    ends = [_end(child) for child in children]
    is_all = ends == ["unbounded preceding", "unbounded following"]
    return "" if is_all else f"rows between {' and '.join(ends)}"


def _end(node: _Node) -> str:
    if not node.items:
        return "current row" if node.word == "current" else node.word
    number = " ".join(map(_text, node.items[1:]))
    return f"{'unbounded' if number == _ALL_ROWS else number} {node.head}"


_CLAUSES: dict[str, Callable[[Sequence[_Node]], str]] = {
    "tok_windowspec": _listed("", between=" "),
    "tok_partitioningspec": _listed("", between=" "),
    "tok_distributeby": _listed("partition by "),
    "tok_clusterby": _listed("partition by "),
    "tok_orderby": _listed("order by "),
    "tok_sortby": _listed("order by "),
    "tok_tabsortcolnameasc": _listed(""),
    "tok_tabsortcolnamedesc": _listed("", " desc"),
    "tok_nulls_first": _listed(""),
    "tok_nulls_last": _listed(""),
    "tok_windowrange": _range,
    "tok_windowvalues": _range,
}
