"""Expressions of QuickSight as values. Pure.

Only calls and lists decide what a value is made of, so operators have no precedence here: what they combine
is computed of all of it. The text of an expression has those of the expressions that it refers to.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from lineage_merge.column_lineage.derive import LIMIT
from lineage_merge.column_lineage.roles import AGGREGATED, OF_WINDOW, VALUE, Role, roles
from lineage_merge.column_lineage.transformations import Transformation
from lineage_merge.column_lineage.value_graph import Input, Value

# QuickSight itself takes 32,000 characters.
MAX_LENGTH = 250_000
MAX_DEPTH = 500

_SYNTAX = r"""
    (?P<space>(?:\s|//[^\n]*|/\*.*?\*/)+)
  | (?P<text>{text})
  | (?P<parameter>\$\{{[^{{}}]*\}})
  | (?P<reference>\{{[^{{}}]*\}})
  | (?P<word>[^\W\d]\w*(?:\.\w+)*)
  | (?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
  | (?P<open>[(\[])
  | (?P<close>[)\]])
  | (?P<comma>,)
  | (?P<operator><>|[<>!=]=|/(?!\*)|[-+*%^=<>!&|])
"""
_STRINGS = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
# A text that ends with a backslash: split({path}, '\', 1).
_PLAIN_STRINGS = r"'[^']*'|\"[^\"]*\""
_TOKENS = tuple(
    re.compile(_SYNTAX.format(text=text), re.VERBOSE | re.DOTALL) for text in (_STRINGS, _PLAIN_STRINGS)
)
_OPERATORS = frozenset({"and", "or", "not", "in", "between", "like", "is"})
_CONSTANTS = frozenset(
    """
    null true false asc desc pre_agg pre_filter post_agg_filter case_sensitive case_insensitive
    year quarter month week day hour minute second millisecond
    """.split()
)
_CLOSING = {"(": ")", "[": "]"}
_PLAIN_NAME = re.compile(r"[^\W\d]\w*")
_SPACES = re.compile(r"\s+")

Columns = Value[str]


class ExpressionError(ValueError):
    """Why an expression cannot be read; never contains its text."""


class Reference(NamedTuple):
    """A reference in the text of an expression: the value, and how it is written."""

    value: Columns
    written: str


class Expression(Columns):
    """A value that is computed by an expression, of which `parts` are the text and the references."""

    __slots__ = ("parts",)

    def __init__(self) -> None:
        super().__init__(text=lambda: compose_text(self))
        self.parts: list[str | Reference] = []


class Names(NamedTuple):
    """What names mean: `find` returns the value of a column or calculated field, None for an unknown one.

    Its second argument: in any case. `lose` returns the value of a reference to nothing, `find_parameter` of
    a parameter.
    """

    find: Callable[[str, bool], Columns | None]
    lose: Callable[[str], Columns]
    find_parameter: Callable[[str], Columns]

    def resolve(self, name: str) -> Columns:
        """Return the value of a name that has to be known."""
        return self.find(name, False) or self.find(name, True) or self.lose(name)

    def resolve_word(self, word: str) -> Columns | None:
        """Return the value of a word; None for a constant."""
        exact = self.find(word, False)
        return None if exact is None and word.lower() in _CONSTANTS else exact or self.resolve(word)


class _Frame:
    """A call, a list, or what parentheses contain: the values of its arguments so far.

    `operands`: those of the current argument. `is_computed`: an operator combines them.
    """

    __slots__ = ("arguments", "bracket", "function", "is_computed", "is_list", "operands")

    def __init__(self, bracket: str, function: str) -> None:
        self.bracket = bracket
        self.function = function
        self.is_list: list[bool] = []
        self.arguments: list[Columns | None] = []
        self.operands: list[tuple[Columns | None, bool]] = []
        self.is_computed = False

    def end_argument(self) -> None:
        values = [value for value, _ in self.operands if value is not None]
        is_single = len(self.operands) == 1 and not self.is_computed
        self.is_list.append(is_single and self.operands[0][1])
        if is_single or not values:
            self.arguments.append(values[0] if values else None)
        else:
            self.arguments.append(_combine((value, VALUE) for value in values))
        self.operands = []
        self.is_computed = False

    def value(self) -> Columns | None:
        """Return the value of the call, of the list, or in parentheses."""
        if not self.function and self.bracket != "[" and len(self.arguments) == 1:
            return self.arguments[0]
        known = roles(self.function, "quicksight") if self.function else None
        count = len(self.arguments)
        inputs = [
            (value, OF_WINDOW if is_list else VALUE if known is None else known.get_role(position, count))
            for position, (value, is_list) in enumerate(zip(self.arguments, self.is_list, strict=True))
            if value is not None
        ]
        return _combine(inputs) if inputs else None


def parse_expression(text: str, names: Names, target: Expression | None = None) -> Expression:
    """Return the value of an expression; `target` becomes it. Raises `ExpressionError`."""
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"longer than {MAX_LENGTH:,} characters")
    tokens = _tokenize(text)
    expression = target or Expression()
    parts: list[str | Reference] = []
    frames = [_Frame("", "")]
    function = ""
    for at, (kind, written, space) in enumerate(tokens):
        frame = frames[-1]
        part: str | Reference = written
        is_call = kind == "word" and at + 1 < len(tokens) and tokens[at + 1].text == "("
        is_operator = kind == "word" and written.lower() in _OPERATORS
        if is_call and (not is_operator or (written.lower() == "in" and not frame.operands)):
            function = written
        elif kind == "open":
            frames.append(_Frame(written, function))
            function = ""
            if len(frames) > MAX_DEPTH:
                raise ExpressionError(f"nested deeper than {MAX_DEPTH} levels")
        elif kind == "close":
            if written != _CLOSING.get(frame.bracket):
                raise ExpressionError("unbalanced brackets")
            if frame.operands or frame.arguments:
                frame.end_argument()
            frames.pop()
            frames[-1].operands.append((frame.value(), frame.bracket == "["))
        elif kind == "comma":
            if len(frames) == 1:
                raise ExpressionError("a comma outside of brackets")
            frame.end_argument()
        elif kind == "operator" or is_operator:
            frame.is_computed = True
        else:
            value = _resolve(kind, written, names)
            frame.operands.append((value, False))
            part = written if value is None else Reference(value, written)
        parts += [space, part] if space else [part]
    if len(frames) > 1:
        raise ExpressionError("unbalanced brackets")
    frames[0].end_argument()
    (result,) = frames[0].arguments
    if isinstance(result, _Computed):
        expression.inputs = result.inputs
    elif result is not None:
        expression.inputs = [Input(result)]
    expression.parts = parts
    return expression


class _Computed(Columns):
    """A part of an expression that computes a value."""

    __slots__ = ()


def compute(value: Columns, role: Role, before: str, after: str) -> Expression:
    """Return what one call makes of a value; `before` and `after` are its text."""
    expression = Expression()
    expression.inputs = [Input(value, role.step)]
    expression.parts = [before, Reference(value, ""), after]
    return expression


def aggregate(value: Columns, function: str) -> Expression:
    """Return an aggregation of a value."""
    return compute(value, AGGREGATED, f"{function.lower()}(", ")")


def show_name(name: str) -> str:
    """Return a name as an expression has it."""
    return name if _PLAIN_NAME.fullmatch(name) else f"{{{name}}}"


def compose_text(expression: Expression) -> str:
    """Return the text of an expression, in which those of other expressions replace their names."""
    written: list[str] = []
    length = 0
    open_parts: list[tuple[Expression, Iterator[str | Reference]]] = [(expression, iter(expression.parts))]
    inside = {id(expression)}
    while open_parts and length <= LIMIT:
        value, parts = open_parts[-1]
        part = next(parts, None)
        if part is None:
            open_parts.pop()
            inside.discard(id(value))
            continue
        if isinstance(part, Reference):
            inner = part.value
            if isinstance(inner, Expression) and inner.parts and id(inner) not in inside:
                inside.add(id(inner))
                is_operand = bool(part.written) and _shown_parts(value) > 1 and _shown_parts(inner) > 1
                around = ("(", ")") if is_operand else ("", "")
                open_parts.append((inner, iter((around[0], *inner.parts, around[1]))))
                continue
            part = _text_of(inner, part.written)
        written.append(part)
        length += len(part)
    return _SPACES.sub(" ", "".join(written)).strip()[:LIMIT]


def _shown_parts(expression: Expression) -> int:
    return sum(not isinstance(part, str) or bool(part.strip()) for part in expression.parts)


def _text_of(value: Columns, written: str) -> str:
    if isinstance(value, Expression):
        return written
    if len(value.columns) == 1 and value.columns[0].source.isprintable():
        return show_name(value.columns[0].column)
    text = value.text() if callable(value.text) else value.text
    return f"({text})" if text else written


def _resolve(kind: str, written: str, names: Names) -> Columns | None:
    match kind:
        case "parameter":
            return names.find_parameter(written[2:-1].strip())
        case "reference":
            return names.resolve(written[1:-1].strip())
        case "word":
            return names.resolve_word(written)
    return None


def _combine(inputs: "Iterator[tuple[Columns, Role]] | list[tuple[Columns, Role]]") -> _Computed:
    return _Computed(Input(value, _beyond_renaming(role.step), passes=False) for value, role in inputs)


def _beyond_renaming(step: Transformation) -> Transformation:
    return step or Transformation.TRANSFORMATION


class _Token(NamedTuple):
    """A token, and whether a space or a comment precedes it."""

    kind: str
    text: str
    space: str


def _tokenize(text: str) -> list[_Token]:
    position = 0
    for pattern in _TOKENS:
        tokens: list[_Token] = []
        position, space = 0, ""
        while position < len(text) and (match := pattern.match(text, position)) is not None:
            if match.lastgroup == "space":
                space = " "
            else:
                tokens.append(_Token(match.lastgroup or "", match[0], space))
                space = ""
            position = match.end()
        if position == len(text):
            return tokens
    raise ExpressionError(_describe(text[position]))


def _describe(character: str) -> str:
    if character in "'\"":
        return "a text without its end"
    if character in "{}$":
        return "unbalanced braces"
    return "a comment without its end" if character == "/" else "an unexpected character"
