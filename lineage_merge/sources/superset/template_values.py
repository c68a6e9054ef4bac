"""Expressions of Jinja as text of SQL, without a server. Pure."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Tokens = list[str]
# Returns the table that a call of another data set stands for, by its arguments. Raises `Unrenderable`.
WriteDataSet = Callable[[Sequence[Tokens]], str]

# What a value is that only a server knows: valid as a number, and in quotes.
_VALUE = "1"
_LIST = "('1')"
_TOKEN = re.compile(
    r"""\s+|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\d+(?:\.\d+)?|[^\W\d]\w*|[=!<>]=|\*\*|//|.""", re.DOTALL
)
_NAME = re.compile(r"[^\W\d]\w*")
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")
# Of Superset, and of Jinja itself.
_FUNCTIONS = frozenset(
    """
    filter_values url_param get_filters get_time_filter current_username current_user_id current_user_email
    current_user_roles current_user_rls_rules cache_key_wrapper get_guest_user_attribute range
    """.split()
)
_VARIABLES = frozenset(
    """
    from_dttm to_dttm time_range granularity columns filter groupby metrics table_columns row_limit row_offset
    time_column time_grain now relativedelta datetime timedelta loop
    """.split()
)
_COMPARING = frozenset({"and", "or", "not", "in", "is", "==", "!=", "<", ">", "<=", ">="})
_COMPUTING = frozenset({"-", "*", "/", "%", "**", "//"})
_MAX_DEPTH = 50
# Several variables may be built of each other.
MAX_LENGTH = 1_000_000


class Unrenderable(ValueError):
    """Why SQL cannot be rendered; never contains its text."""


def split_tokens(text: str) -> Tokens:
    """Return the tokens of an expression or a statement."""
    return [match[0] for match in _TOKEN.finditer(text) if not match[0].isspace()]


class Values:
    """Values of expressions. `variables`: those that the template sets, and the data set's parameters."""

    def __init__(
        self,
        parameters: Mapping[str, Any],
        find_metric: Callable[[str], str | None],
        write_data_set: WriteDataSet,
    ) -> None:
        self.variables = {name: _show(value) for name, value in parameters.items()}
        self._find_metric = find_metric
        self._write_data_set = write_data_set
        self._depth = 0

    def set_loop(self, names: Tokens) -> None:
        """Give the variables of a loop their values."""
        self.variables.update((name, _VALUE) for name in names if _NAME.fullmatch(name))

    def value(self, tokens: Tokens) -> str:
        """Return the text of an expression. Raises `Unrenderable`."""
        self._depth += 1
        try:
            if self._depth > _MAX_DEPTH:
                raise Unrenderable("has an expression that is nested too deeply")
            written = self._value(tokens)
        finally:
            self._depth -= 1
        if len(written) > MAX_LENGTH:
            raise Unrenderable("renders to too much text")
        return written

    def _value(self, tokens: Tokens) -> str:
        before, condition = _cut(tokens, "if")
        if condition is not None:
            condition, otherwise = _cut(condition, "else")
            is_true = self.is_true(condition)
            return self.value(before if is_true else otherwise or ["''"])
        words = _outer(tokens)
        if not words.isdisjoint(_COMPARING | _COMPUTING):
            return _VALUE
        operands = _split_at(tokens, ("+", "~"))
        if len(operands) > 1:
            return "".join(map(self.value, operands))
        base, *filters = _split_at(tokens, ("|",))
        names = [each[0] for each in filters if each]
        if "where_in" in names:
            return _LIST
        if base and base[0] not in self.variables and (default := _default_of(filters)) is not None:
            return self.value(default)
        return self._primary(base)

    def _primary(self, tokens: Tokens) -> str:
        first = tokens[0] if tokens else "''"
        if first[0] in "'\"":
            # ','.join(filter_values('country'))
            return self.value(_arguments(tokens)) if "join" in tokens[1:3] else first[1:-1]
        if first[0] in "([{":
            return self.value(tokens[1:-1]) if first == "(" and tokens[-1] == ")" else _VALUE
        if first[0].isdigit():
            return first
        if first in self.variables:
            return self.variables[first]
        if first == "metric" and tokens[1:2] == ["("]:
            name = self.value(_split_at(_arguments(tokens), (",",))[0])
            if (expression := self._find_metric(name)) is not None:
                return expression
            raise Unrenderable("names a metric that its data set does not have")
        if first == "dataset" and tokens[1:2] == ["("]:
            return self._write_data_set(_split_at(_arguments(tokens), (",",)))
        is_known = first in (_FUNCTIONS if tokens[1:2] == ["("] else _VARIABLES | {"true", "false", "none"})
        if not is_known:
            raise Unrenderable(f"names {first[:50]}, which only the server knows")
        return _VALUE

    def is_true(self, tokens: Tokens) -> bool:
        """Return whether a condition holds; of what only the server knows: something is selected."""
        start = next((at for at, word in enumerate(tokens) if word != "not"), len(tokens))
        return self._is_true(tokens[start:]) != (start % 2 == 1)

    def _is_true(self, tokens: Tokens) -> bool:
        either, both = _split_at(tokens, ("or",)), _split_at(tokens, ("and",))
        if len(either) > 1:
            return any(map(self.is_true, either))
        if len(both) > 1:
            return all(map(self.is_true, both))
        words = [word.lower() for word in tokens[-3:]]
        if len(words) > 1 and words[-1] in ("none", "undefined"):
            return words[-2] in ("not", "!=")
        if len(tokens) == 1:
            return self.variables.get(tokens[0], tokens[0]).lower() not in ("", "''", "0", "false", "none")
        return True


def _show(value: Any) -> str:
    return ",".join(map(_show, value)) if isinstance(value, list) else str(value)


def _arguments(tokens: Tokens) -> Tokens:
    """Return what is in the first parentheses."""
    start = tokens.index("(") + 1 if "(" in tokens else len(tokens)
    return next(iter(_split_at(tokens[start:], (")",))), [])


def _default_of(filters: list[Tokens]) -> Tokens | None:
    return next((_arguments(each) for each in filters if each[:1] in (["default"], ["d"])), None)


def _outer(tokens: Tokens) -> set[str]:
    """Return the tokens outside of brackets."""
    return {token for part in _split_at(tokens, ()) for token in _level(part)}


def _level(tokens: Tokens) -> Tokens:
    found: Tokens = []
    depth = 0
    for token in tokens:
        depth -= token in _CLOSE
        if depth == 0:
            found.append(token)
        depth += token in _OPEN
    return found


def _split_at(tokens: Tokens, separators: tuple[str, ...]) -> list[Tokens]:
    """Return the parts between separators outside of brackets."""
    parts: list[Tokens] = [[]]
    depth = 0
    for token in tokens:
        if depth == 0 and token in separators:
            parts.append([])
            continue
        depth += (token in _OPEN) - (token in _CLOSE)
        parts[-1].append(token)
    return parts


def _cut(tokens: Tokens, word: str) -> tuple[Tokens, Tokens | None]:
    """Return what is before a word, and what is after it, None without it."""
    before, *after = _split_at(tokens, (word,))
    return before, [
        token for at, part in enumerate(after) for token in ([word] * (at > 0) + part)
    ] if after else None
