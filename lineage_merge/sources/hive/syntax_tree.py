"""Tokens of Hive's expressions, and the syntax trees that its lineage prints for window functions. Pure.

``(tok_function sum (. (tok_table_or_col t) x) (tok_windowspec ...))``: their column references, and their
conversion to readable text.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from lineage_merge.column_lineage.roles import roles
from lineage_merge.column_lineage.transformations import Transformation

# A subquery's column that Hive has numbered; the prefix is that of a shuffled row.
INTERNAL = re.compile(r"(?:_(?:col|c|wcol|o__c)\d+|\$f\d+|_groupby\w*)")
OF_WINDOW = re.compile(r"_wcol\d+")

_TOKEN = re.compile(
    r"(?P<string>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
    r"|`(?P<quoted>[^`]+)`"
    r"|(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?[A-Za-z]{0,2}(?![\w$]))"
    r"|(?P<word>[\w$]+)"
    r"|(?P<operator><=>|<>|!=|<=|>=|==|[=<>])"
    r"|(?P<other>\S)",
    re.DOTALL,
)


class Token(NamedTuple):
    """A token: `kind` is a group of `_TOKEN`, `text` is in lower case, from `start` to before `end`."""

    kind: str
    text: str
    start: int
    end: int


def tokens(text: str) -> list[Token]:
    """Return the words, operators and other symbols of an expression."""
    return [
        Token(match.lastgroup or "other", (match["quoted"] or match[0]).lower(), *match.span())
        for match in _TOKEN.finditer(text)
    ]


def closing(listed: Sequence[Token], start: int) -> int:
    """Return the index after the bracket that closes the one at `start`, or the end."""
    depth = 0
    for index in range(start, len(listed)):
        if listed[index].kind == "other":
            depth += {"(": 1, ")": -1}.get(listed[index].text, 0)
        if depth == 0:
            return index + 1
    return len(listed)


def opens_tree(listed: Sequence[Token], index: int) -> bool:
    """Return whether a syntax tree of Hive's parser begins at a token: ``(tok_function ...``."""
    return (
        listed[index].text == "("
        and index + 1 < len(listed)
        and listed[index + 1].kind == "word"
        and listed[index + 1].text.startswith("tok_")
    )


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


def uses(listed: Sequence[Token]) -> Iterator[tuple[tuple[str, ...], Steps]]:
    """Yield each column in a tree, by its parts, with the steps of its value, outermost first."""
    # Not recursive: nesting depth is unlimited.
    root, _ = _tree(listed)
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
    listed = tokens(text)
    parts: list[str] = []
    index = written = 0
    while index < len(listed):
        if not opens_tree(listed, index):
            index += 1
            continue
        end = closing(listed, index)
        root, depth = _tree(listed[index:end])
        # Unchanged if it was truncated, or if a string in it only looks like a tree.
        if depth <= _MAX_DEPTH and listed[end - 1].text == ")" and root.items[0].head in _FUNCTIONS:
            parts += [text[written : listed[index].start], " ".join(map(_text, root.items))]
            written = listed[end - 1].end
        index = end
    return "".join([*parts, text[written:]])


def _tree(listed: Sequence[Token]) -> tuple[_Node, int]:
    """Return a tree below an artificial root, and its depth."""
    root = _Node()
    above = [root]
    depth = 0
    for token in listed:
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
        return [(argument, _step(name, index, arguments)) for index, argument in enumerate(arguments)]
    if head == "tok_windowspec":
        return [(item, Transformation.WINDOW) for item in node.items[1:]]
    return [(item, Transformation.TRANSFORMATION) for item in node.items if item.items]


def _step(name: str, index: int, arguments: Sequence[_Node]) -> Transformation:
    if arguments[index].head == "tok_windowspec":
        return Transformation.WINDOW
    count = sum(argument.head != "tok_windowspec" for argument in arguments)
    return roles(name).get_role(index, count).step


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
    return f"{name}({distinct}{', '.join(taken)}){''.join(f' over ({clause})' for clause in window)}"


def _join_parts(before: str, after: str = "", between: str = ", ") -> Callable[[Sequence[_Node]], str]:
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
    "tok_windowspec": _join_parts("", between=" "),
    "tok_partitioningspec": _join_parts("", between=" "),
    "tok_distributeby": _join_parts("partition by "),
    "tok_clusterby": _join_parts("partition by "),
    "tok_orderby": _join_parts("order by "),
    "tok_sortby": _join_parts("order by "),
    "tok_tabsortcolnameasc": _join_parts(""),
    "tok_tabsortcolnamedesc": _join_parts("", " desc"),
    "tok_nulls_first": _join_parts(""),
    "tok_nulls_last": _join_parts(""),
    "tok_windowrange": _range,
    "tok_windowvalues": _range,
}
