"""Parser of Spark's textual logical plans, and of the columns in expressions.

Spark prints one operation per line, indented by three characters per level (``:- ``, ``+- ``, ``:  ``). The
plans of an operation's subqueries follow it directly, two levels deeper, and its children after them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from lineage_merge.column_lineage.roles import Roles, roles
from lineage_merge.column_lineage.transformations import Transformation, compose

CONDITIONAL = Transformation.CONDITIONAL

_LINE = re.compile(r"^(?P<indent>(?:[: ] {2})*)(?P<branch>[:+]- )?(?P<mark>['!~]*)(?P<rest>[A-Za-z_].*)$")
_NAME = re.compile(r"[A-Za-z_]\w*")
ATTRIBUTE = re.compile(r"(?P<name>[A-Za-z_][\w.$]*|`[^`]*`)?#(?P<id>\d+)L?")
_ENDS_WITH_ID = re.compile(r"#\d+L?$")
_ELIDED = re.compile(r"^\.\.\. (?P<count>\d+) more fields$")
_ALIAS = " AS "
_OPEN, _CLOSE = "([{", ")]}"
_OPENING = frozenset(_OPEN)
# A name may be an expression, `max(coalesce(a#1, 0))#2`.
_COLUMN_NAME = r"(?:[^()]|\((?:[^()]|\([^()]*\))*\))*"
_TOKEN = re.compile(
    rf"outer\((?P<outer>{_COLUMN_NAME}#(?P<outer_id>\d+)L?)\)(?P<outer_path>(?:\.[A-Za-z_]\w*)*)"
    r"|(?P<subquery>scalar-subquery|list|exists|lateral-subquery)#\d+ \[[^\]]*\]"
    r"|(?P<function>[A-Za-z_]\w*)\("
    r"|(?P<word>\b(?:CASE|WHEN|THEN|ELSE|END|if|else|FILTER)\b)(?![#\w])"
    r"|(?P<column>[A-Za-z_`][^\s(),\[\]]*)?#(?P<id>\d+)L?(?P<path>(?:\.[A-Za-z_]\w*)*)"
    r"|(?P<open>\()|(?P<close>\))|(?P<separator>, )"
)


@dataclass(slots=True)
class TextOperation:
    """One line: `name` is the operation, `arguments` what follows it."""

    name: str
    arguments: str
    children: list["TextOperation"] = field(default_factory=list)
    subqueries: list["TextOperation"] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class TextItem:
    """An entry of a list of columns: its id (0 without one), and what computes it.

    `expression` is "" for a column that is only passed on.
    """

    id: int
    name: str
    expression: str
    text: str


def parse_plan(text: str) -> list[TextOperation]:
    """Parse all operations of a plan's text, outermost first, each before its descendants."""
    text_operations: list[TextOperation] = []
    stack: list[tuple[int, TextOperation]] = []
    for line in text.split("\n"):
        matched = _LINE.match(line)
        if not matched or (stack and not matched["branch"]):
            # A line break inside a constant.
            if stack:
                stack[-1][1].arguments += f" {line.strip()}"
            continue
        depth = len(matched["indent"]) // 3 + (1 if matched["branch"] else 0)
        name = _NAME.match(matched["rest"])
        node = TextOperation(name[0] if name else "", matched["rest"][name.end() if name else 0 :].strip())
        while stack and stack[-1][0] >= depth:
            stack.pop()
        if stack:
            above, parent = stack[-1]
            (parent.children if depth == above + 1 else parent.subqueries).append(node)
        stack.append((depth, node))
        text_operations.append(node)
    return text_operations


def split_top(text: str, separator: str = ", ") -> list[str]:
    """Split a list at separators outside of brackets.

    Constants are not quoted in the text, so brackets may be unbalanced: a closing bracket without an opening
    one is taken as a character.
    """
    if separator not in text or _OPENING.isdisjoint(text):
        return [part for part in text.split(separator) if part]
    parts: list[str] = []
    depth = start = position = 0
    while position < len(text):
        letter = text[position]
        if letter in _OPEN:
            depth += 1
        elif letter in _CLOSE:
            depth = max(0, depth - 1)
        elif depth == 0 and text.startswith(separator, position):
            parts.append(text[start:position])
            position += len(separator)
            start = position
            continue
        position += 1
    parts.append(text[start:])
    return [part for part in parts if part]


def lists(text: str) -> list[str]:
    """Return the lists of an operation's arguments, without their square brackets."""
    brackets = _brackets(text)
    if brackets or "[" not in text:
        return brackets
    # A bracket in a constant has no counterpart.
    return text[text.index("[") + 1 : text.rfind("]")].split("], [")


def _brackets(text: str) -> list[str]:
    """Return the contents of the square brackets at the top level of a text, in order."""
    brackets: list[str] = []
    depth = start = 0
    for position, letter in enumerate(text):
        if letter in _OPEN:
            if depth == 0:
                start = position
            depth += 1
        elif letter in _CLOSE and depth:
            depth -= 1
            if depth == 0 and text[start] == "[":
                brackets.append(text[start + 1 : position])
    return brackets


def items(inside: str) -> tuple[list[TextItem], int]:
    """Return the entries of a list of columns, and how many more Spark omitted from the text."""
    text_items: list[TextItem] = []
    for part in _whole_items(inside):
        elided = _ELIDED.match(part)
        if elided:
            return text_items, int(elided["count"])
        text_items.append(item(part))
    return text_items, 0


def item(part: str) -> TextItem:
    """Parse ``cast(a#1 as string) AS b#2``: id 2, name b and the expression before AS."""
    last = next((match for match in ATTRIBUTE.finditer(part) if match.end() == len(part)), None)
    if last is None:
        return TextItem(0, "", part, part)
    before = split_top(part, _ALIAS)
    if len(before) == 1 and _ALIAS in part and _count_open(part) != 0:
        # An unbalanced bracket of a constant hides the alias.
        before = [*part.rsplit(_ALIAS, 1)]
    if len(before) > 1:
        name = _ALIAS.join(before[1:]).rpartition("#")[0]
        return TextItem(int(last["id"]), name.strip("`"), before[0], part)
    return TextItem(int(last["id"]), part.rpartition("#")[0].strip("`"), "", part)


def _count_open(text: str) -> int:
    """Return how many brackets stay open."""
    return sum(character in _OPEN for character in text) - sum(character in _CLOSE for character in text)


def _whole_items(inside: str) -> list[str]:
    """Return the entries, rejoined where a name or a constant contained a comma."""
    separator = ", "
    if "," in inside and separator not in inside:
        # A relation's columns, or one expression such as `cast(a#1 as decimal(20,0)) AS b#2`.
        separator = ","
        parts = inside.split(",")
        if not all(map(_is_whole, parts)):
            parts = split_top(inside, ",")
    else:
        # Relations list their columns without a space, except before the note of omitted ones.
        parts = [token for piece in split_top(inside) for token in _split_tight(piece)]
    whole: list[str] = []
    held = ""
    for part in parts:
        held = f"{held}{separator}{part}" if held else part
        if _is_whole(held):
            whole.append(held)
            held = ""
    if held:
        whole.append(held)
    return whole


def _is_whole(part: str) -> bool:
    return bool(_ENDS_WITH_ID.search(part) or _ELIDED.match(part))


def _split_tight(piece: str) -> list[str]:
    parts = split_top(piece, ",")
    plain = all(_ELIDED.match(part) or re.fullmatch(r"[^\s(]+#\d+L?", part) for part in parts)
    return parts if plain else [piece]


class ColumnReference(NamedTuple):
    """A column in an expression's text; `outer`: a column of the outer query.

    `subquery`: not a column but a subquery, and `name` is its kind. `path` are the names of the field of the
    column that is read.
    """

    id: int
    name: str
    step: Transformation
    outer: bool = False
    subquery: bool = False
    path: tuple[str, ...] = ()


def column_references(expression: str) -> Iterator[ColumnReference]:
    """Yield every column and subquery in an expression, in the order of the text."""
    whole = Transformation.IDENTITY if _is_plain(expression) else Transformation.TRANSFORMATION
    # The context of each open bracket and CASE, and what an argument of a function after a comma is.
    levels: list[Transformation] = [whole]
    calls: dict[int, tuple[Roles, int]] = {}
    condition_of_if = False
    for token in _TOKEN.finditer(expression):
        here = levels[-1]
        if token["outer"]:
            name = token["outer"].rpartition("#")[0]
            path = _names(token["outer_path"])
            yield ColumnReference(int(token["outer_id"]), name, here, outer=True, path=path)
        elif token["subquery"]:
            yield ColumnReference(0, token["subquery"], here, subquery=True)
        elif token["function"]:
            function = roles(token["function"])
            # Of a subquery with columns of the outer query; the function of arrays is written alike.
            step = CONDITIONAL if token["function"].lower() == "exists" else function.get_role(0).step
            levels.append(compose(here, step))
            calls[len(levels)] = (function, 0)
        elif token["open"]:
            levels.append(compose(here, CONDITIONAL) if condition_of_if else here)
            condition_of_if = False
        elif token["close"]:
            calls.pop(len(levels), None)
            if len(levels) > 1:
                levels.pop()
        elif token["separator"]:
            if len(levels) in calls:
                function, position = calls[len(levels)]
                calls[len(levels)] = (function, position + 1)
                levels[-1] = compose(levels[-2], function.get_role(position + 1).step)
        elif token["word"]:
            word = token["word"]
            if word == "CASE":
                levels.append(here)
            elif word == "WHEN" and len(levels) > 1:
                levels[-1] = compose(levels[-2], CONDITIONAL)
            elif word in ("THEN", "ELSE") and len(levels) > 1:
                levels[-1] = compose(levels[-2], Transformation.TRANSFORMATION)
            elif word == "END" and len(levels) > 1:
                levels.pop()
            condition_of_if = word in ("if", "FILTER")
        elif token["id"]:
            name = (token["column"] or "").strip("`")
            yield ColumnReference(int(token["id"]), name, here, path=_names(token["path"]))


def _names(path: str) -> tuple[str, ...]:
    return tuple(path.split(".")[1:])


def _is_plain(expression: str) -> bool:
    """Return whether an expression is just a column or a subquery."""
    token = _TOKEN.fullmatch(expression.strip())
    return bool(token and (token["id"] or token["outer"] or token["subquery"]))


def readable(text: str) -> str:
    """Return an expression's text without Spark's ids."""
    return re.sub(r"#\d+L?", "", text)
