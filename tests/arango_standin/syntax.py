"""AQL text to a tree, by a real parser: what the grammar does not know is refused with 1501."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources
from typing import Any, Final

from lark import Lark, Token, Transformer, v_args
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken, VisitError

from .errors import QUERY_EMPTY, QUERY_PARSE, ServerError, unsupported


class Node:
    """A part of a query; `walk` yields it and everything below."""

    def walk(self) -> Iterator["Node"]:
        yield self
        for field in fields(self):  # type: ignore[arg-type]
            yield from _walk_value(getattr(self, field.name))


def _walk_value(value: object) -> Iterator[Node]:
    if isinstance(value, Node):
        yield from value.walk()
    elif isinstance(value, tuple):
        for item in value:
            yield from _walk_value(item)


@dataclass(frozen=True)
class Literal(Node):
    value: Any


@dataclass(frozen=True)
class Name(Node):
    """A variable, or a collection where no variable has that name."""

    name: str


@dataclass(frozen=True)
class Bind(Node):
    name: str


@dataclass(frozen=True)
class SourceBind(Node):
    """`@@name`; `name` is the key in `bindVars`: `@name` for a data source parameter."""

    name: str


@dataclass(frozen=True)
class Attribute(Node):
    base: Node
    name: "str | Bind"


@dataclass(frozen=True)
class Index(Node):
    base: Node
    index: Node


@dataclass(frozen=True)
class Expansion(Node):
    """`source[*]`: `tail` is what follows it, applied to each element, which `variable` holds."""

    source: Node
    levels: int
    variable: str
    condition: Node | None
    offset: Node | None
    count: Node | None
    projection: Node | None
    tail: Node


@dataclass(frozen=True)
class Parenthesis(Node):
    inner: Node


@dataclass(frozen=True)
class Array(Node):
    items: tuple[Node, ...]


@dataclass(frozen=True)
class Object(Node):
    entries: tuple[tuple[Node, Node], ...]


@dataclass(frozen=True)
class Call(Node):
    function: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True)
class Unary(Node):
    operator: str
    operand: Node


@dataclass(frozen=True)
class Binary(Node):
    operator: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Ternary(Node):
    """`then` is None in the short form, whose value is then the condition's."""

    condition: Node
    then: Node | None
    otherwise: Node


@dataclass(frozen=True)
class Range(Node):
    low: Node
    high: Node


@dataclass(frozen=True)
class For(Node):
    variable: str
    source: Node


@dataclass(frozen=True)
class Traversal(Node):
    """`edges` are (direction or None for the statement's own, collection)."""

    variables: tuple[str, ...]
    depth: Node | None
    direction: str
    start: Node
    edges: tuple[tuple[str | None, Node], ...]
    options: Node | None


@dataclass(frozen=True)
class Filter(Node):
    condition: Node


@dataclass(frozen=True)
class Let(Node):
    variable: str
    value: Node


@dataclass(frozen=True)
class Sort(Node):
    keys: tuple[tuple[Node, bool], ...]


@dataclass(frozen=True)
class Limit(Node):
    offset: Node | None
    count: Node


@dataclass(frozen=True)
class Collect(Node):
    groups: tuple[tuple[str, Node], ...]
    aggregates: tuple[tuple[str, Node], ...]
    into: str | None
    into_value: Node | None
    keep: tuple[str, ...] | None
    count_into: str | None


@dataclass(frozen=True)
class Return(Node):
    value: Node
    distinct: bool


Statement = For | Traversal | Filter | Let | Sort | Limit | Collect


@dataclass(frozen=True)
class Query(Node):
    statements: tuple[Statement, ...]
    result: Return
    declared: tuple[Node, ...] = ()


_KEYWORDS: Final = frozenset(
    re.findall(
        r"\w+",
        """
        FOR LET FILTER RETURN COLLECT SORT LIMIT DISTINCT AGGREGATE ASC DESC NOT AND OR IN INTO WITH
        REMOVE INSERT UPDATE REPLACE UPSERT WINDOW GRAPH SHORTEST_PATH K_SHORTEST_PATHS K_PATHS
        ALL_SHORTEST_PATHS OUTBOUND INBOUND ANY ALL NONE LIKE NULL TRUE FALSE
        """,
    )
)
_FORWARD_TICK: Final = "\N{ACUTE ACCENT}"
_CURRENT: Final = frozenset({"CURRENT", "$CURRENT"})
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}(?:\\u[0-9a-fA-F]{4})?|.)", re.DOTALL)
_ESCAPED: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def _unescape(body: str) -> str:
    def replace(match: re.Match[str]) -> str:
        what = match[1]
        if what[0] == "u" and len(what) > 1:
            text: str = json.loads(f'"\\{what}"')
            return text
        return _ESCAPED.get(what, what)

    return _ESCAPE.sub(replace, body)


def _name_or_keyword(token: Token) -> Token:
    text = str(token)
    if text[0] in {"`", _FORWARD_TICK}:
        return Token.new_borrow_pos("NAME", _unescape(text[1:-1]), token)
    return Token.new_borrow_pos(text.upper(), text, token) if text.upper() in _KEYWORDS else token


def _expressions(children: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(child for child in children if child is not None and not isinstance(child, Token))


def _options(word: Token | None, value: Node | None) -> Node | None:
    if word is None:
        return None
    if word.upper() != "OPTIONS":
        raise unsupported(f"'{word}'")
    if not isinstance(value, Object):
        raise ServerError(QUERY_PARSE, "AQL: 'OPTIONS' have to be an object (while parsing)")
    return value


def _access(base: Node, step: Any) -> Node:
    """What follows `[*]` belongs to each element: it goes to the end of the innermost expansion."""
    if isinstance(base, Expansion):
        if base.projection is not None:
            raise unsupported("access behind an inline RETURN")
        return Expansion(
            base.source,
            base.levels,
            base.variable,
            base.condition,
            base.offset,
            base.count,
            None,
            _access(base.tail, step),
        )
    built = step(base)
    assert isinstance(built, Node)
    return built


@v_args(inline=True)
class _Builder(Transformer[Token, Any]):
    def __init__(self) -> None:
        super().__init__()
        self._expansions = 0

    def start(self, *children: Any) -> Query:
        query = children[-1]
        declared = children[0] if len(children) > 1 else ()
        return Query(query.statements, query.result, declared)

    def with_clause(self, _with: Token, *sources: Node) -> tuple[Node, ...]:
        return sources

    def query(self, *children: Any) -> Query:
        statements: list[Statement] = []
        for child in children[:-1]:
            statements.extend(child if isinstance(child, list) else [child])
        return Query(tuple(statements), children[-1])

    def for_statement(
        self, _for: Token, names: tuple[str, ...], _in: Token, source: Node, word: Token | None, value: Any
    ) -> For:
        if len(names) != 1:
            raise ServerError(
                QUERY_PARSE,
                "AQL: Collections and views FOR loops only allow a single return variable (while parsing)",
            )
        _options(word, value)
        return For(names[0], source)

    def traversal_statement(
        self,
        _for: Token,
        names: tuple[str, ...],
        _in: Token,
        depth: Node | None,
        direction: str,
        start: Node,
        edges: tuple[tuple[str | None, Node], ...],
        word: Token | None,
        value: Any,
    ) -> Traversal:
        if len(names) > 3:
            raise ServerError(
                QUERY_PARSE,
                "AQL: Traversals only have one, two or three return variables (while parsing)",
            )
        return Traversal(names, depth, direction, start, edges, _options(word, value))

    def names(self, *names: Token) -> tuple[str, ...]:
        return tuple(map(str, names))

    def direction(self, word: Token) -> str:
        return word.upper()

    def edges(self, *edges: tuple[str | None, Node]) -> tuple[tuple[str | None, Node], ...]:
        return edges

    def named_graph(self, *_children: Any) -> Any:
        raise unsupported("a named graph")

    def edge(self, direction: str | None, source: Node) -> tuple[str | None, Node]:
        return direction, source

    def named_source(self, name: Token) -> Node:
        return Name(str(name))

    def value_bound_source(self, name: Token) -> Node:
        return SourceBind(str(name)[1:])

    def bound_source(self, name: Token) -> Node:
        return SourceBind(str(name)[1:])

    def filter_statement(self, _filter: Token, condition: Node) -> Filter:
        return Filter(condition)

    def let_statement(self, _let: Token, *assignments: tuple[str, Node]) -> list[Let]:
        return [Let(name, value) for name, value in assignments]

    def assignment(self, name: Token, value: Node) -> tuple[str, Node]:
        return str(name), value

    def sort_statement(self, _sort: Token, *keys: tuple[Node, bool]) -> Sort:
        return Sort(keys)

    def sort_key(self, value: Node, ascending: bool | None) -> tuple[Node, bool]:
        return value, ascending is not False

    def sort_direction(self, word: Token) -> bool:
        return word.upper() == "ASC"

    def limit_statement(self, _limit: Token, first: Node, second: Node | None) -> Limit:
        return Limit(None, first) if second is None else Limit(first, second)

    def groups(self, *assignments: tuple[str, Node]) -> tuple[str, Any]:
        return "groups", assignments

    def aggregates(self, _aggregate: Token, *assignments: tuple[str, Node]) -> tuple[str, Any]:
        return "aggregates", assignments

    def into(self, _into: Token, name: Token, value: Node | None) -> tuple[str, Any]:
        return "into", (str(name), value)

    def keep(self, word: Token, names: tuple[str, ...]) -> tuple[str, Any]:
        if word.upper() != "KEEP":
            raise ServerError(
                QUERY_PARSE, f"AQL: unexpected qualifier '{word}', expecting 'KEEP' (while parsing)"
            )
        return "keep", names

    def collect_statement(self, _collect: Token, *clauses: tuple[str, Any]) -> Collect:
        parts = dict(clauses)
        if not parts.get("groups") and "aggregates" not in parts:
            raise ServerError(QUERY_PARSE, "AQL: syntax error, COLLECT without a variable (while parsing)")
        into, value = parts.get("into", (None, None))
        if "keep" in parts and (into is None or "aggregates" in parts):
            raise ServerError(QUERY_PARSE, "AQL: use of 'KEEP' without 'INTO' (while parsing)")
        return Collect(
            parts.get("groups", ()), parts.get("aggregates", ()), into, value, parts.get("keep"), None
        )

    def collect_count(self, _collect: Token, *rest: Any) -> Collect:
        groups = rest[0][1] if isinstance(rest[0], tuple) else ()
        word, name = rest[-3], rest[-1]
        if word.upper() != "COUNT":
            raise ServerError(
                QUERY_PARSE, f"AQL: unexpected qualifier '{word}', expecting 'COUNT' (while parsing)"
            )
        return Collect(groups, (), None, None, None, str(name))

    def return_all(self, _return: Token, value: Node) -> Return:
        return Return(value, False)

    def return_distinct(self, _return: Token, _distinct: Token, value: Node) -> Return:
        return Return(value, True)

    def ternary(self, condition: Node, then: Node, otherwise: Node) -> Node:
        return Ternary(condition, then, otherwise)

    def short_ternary(self, condition: Node, otherwise: Node) -> Node:
        return Ternary(condition, None, otherwise)

    def binary(self, left: Node, operator: Token, right: Node) -> Node:
        kind = operator.type if operator.type in {"AND", "OR"} else str(operator)
        return Binary(kind, left, right)

    def equals(self, left: Node, right: Node) -> Node:
        return Binary("==", left, right)

    def differs(self, left: Node, right: Node) -> Node:
        return Binary("!=", left, right)

    def like(self, left: Node, _like: Token, right: Node) -> Node:
        return Call("LIKE", (left, right))

    def not_like(self, left: Node, _not: Token, _like: Token, right: Node) -> Node:
        return Unary("!", Call("LIKE", (left, right)))

    def matches(self, left: Node, right: Node) -> Node:
        return Call("REGEX_TEST", (left, right))

    def matches_not(self, left: Node, right: Node) -> Node:
        return Unary("!", Call("REGEX_TEST", (left, right)))

    def member(self, left: Node, _in: Token, right: Node) -> Node:
        return Binary("IN", left, right)

    def not_member(self, left: Node, _not_in: Token, right: Node) -> Node:
        return Binary("NOT IN", left, right)

    def number_range(self, low: Node, high: Node) -> Node:
        return Range(low, high)

    def unary(self, sign: Token, operand: Node) -> Node:
        return Unary(str(sign), operand)

    def negation(self, _not: Token, operand: Node) -> Node:
        return Unary("!", operand)

    def text(self, token: Token) -> Node:
        return Literal(_unescape(str(token)[1:-1]))

    def number(self, token: Token) -> Node:
        text = str(token)
        return Literal(int(text) if text.isdigit() and int(text) < 2**63 else float(text))

    def null(self, _token: Token) -> Node:
        return Literal(None)

    def true(self, _token: Token) -> Node:
        return Literal(True)

    def false(self, _token: Token) -> Node:
        return Literal(False)

    def name(self, token: Token) -> Node:
        return Name(str(token))

    def bind(self, token: Token) -> Node:
        return Bind(str(token)[1:])

    def array(self, *items: Any) -> Node:
        return Array(_expressions(items))

    def object(self, *entries: Any) -> Node:
        return Object(_expressions(entries))

    def shorthand(self, name: Token) -> tuple[Node, Node]:
        return Literal(str(name)), Name(str(name))

    def member_entry(self, name: Token, value: Node) -> tuple[Node, Node]:
        text = _unescape(str(name)[1:-1]) if name.type == "STRING" else str(name)
        return Literal(text), value

    def bound_entry(self, name: Token, value: Node) -> tuple[Node, Node]:
        return Bind(str(name)[1:]), value

    def computed_entry(self, key: Node, value: Node) -> tuple[Node, Node]:
        return key, value

    def function(self, *parts: Token) -> str:
        return "::".join(part.upper() for part in parts)

    def call(self, function: str, *arguments: Any) -> Node:
        return Call(function, _expressions(arguments))

    def subquery(self, query: Query) -> Node:
        return query

    def parenthesis(self, inner: Node) -> Node:
        return Parenthesis(inner)

    def attribute(self, base: Node, name: Token) -> Node:
        return _access(base, lambda target: Attribute(target, str(name)))

    def bound_attribute(self, base: Node, name: Token) -> Node:
        return _access(base, lambda target: Attribute(target, Bind(str(name)[1:])))

    def indexed(self, base: Node, index: Node) -> Node:
        return _access(base, lambda target: Index(target, index))

    def array_limit(self, _limit: Token, first: Node, second: Node | None) -> tuple[Node | None, Node]:
        return (None, first) if second is None else (first, second)

    def expansion(self, base: Node, *rest: Any) -> Node:
        stars = sum(isinstance(part, Token) and part.type == "TIMES" for part in rest)
        parts = list(rest[stars:])
        condition = limit = projection = None
        for position, part in enumerate(parts):
            if isinstance(part, Token) and part.type == "FILTER":
                condition = parts[position + 1]
            elif isinstance(part, Token) and part.type == "RETURN":
                projection = parts[position + 1]
            elif isinstance(part, tuple):
                limit = part
        self._expansions += 1
        variable = f"[*]{self._expansions}"
        offset, count = limit or (None, None)

        def expand(source: Node) -> Node:
            # Inside the brackets CURRENT is the element; a nested expansion has replaced its own already.
            return Expansion(source, stars, variable, condition, offset, count, projection, Name(variable))

        if stars > 1 and isinstance(base, Expansion):
            return expand(Parenthesis(base))
        return _access(base, expand)


def is_current(name: str) -> bool:
    """Is this the element of the expansion around it?"""
    return name in _CURRENT


@cache
def _parser() -> Lark:
    grammar = resources.files(__package__).joinpath("aql.lark").read_text(encoding="utf-8")
    return Lark(
        grammar,
        parser="lalr",
        lexer="basic",
        maybe_placeholders=True,
        lexer_callbacks={"NAME": _name_or_keyword},
    )


def _syntax_error(text: str, problem: UnexpectedInput) -> ServerError:
    if isinstance(problem, UnexpectedEOF) or (
        isinstance(problem, UnexpectedToken) and problem.token.type == "$END"
    ):
        message = "syntax error, unexpected end of query string"
        line = text.count("\n") + 1
        column = len(text) - text.rfind("\n")
        near = ""
    else:
        what = f"unexpected {problem.token.type}" if isinstance(problem, UnexpectedToken) else "unexpected"
        if isinstance(problem, UnexpectedCharacters):
            what = "unexpected character"
        line, column = problem.line, problem.column
        near = text[problem.pos_in_stream or 0 :][:40]
        message = f"syntax error, {what}"
    return ServerError(
        QUERY_PARSE, f"AQL: {message} near '{near}' at position {line}:{column} (while parsing)"
    )


def parse(text: str) -> Query:
    """The tree of a query; `ServerError` 1502 for an empty one, 1501 for anything outside the subset."""
    if not text.strip():
        raise ServerError(QUERY_EMPTY, "query is empty")
    try:
        tree = _parser().parse(text)
    except UnexpectedInput as problem:
        raise _syntax_error(text, problem) from None
    try:
        query = _Builder().transform(tree)
    except VisitError as problem:
        if isinstance(problem.orig_exc, ServerError):
            raise problem.orig_exc from None
        raise
    assert isinstance(query, Query)
    return query
