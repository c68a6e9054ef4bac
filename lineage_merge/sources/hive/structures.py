"""Structures in Hive's expressions: ``named_struct('city', upper(name))``. Pure."""

from collections.abc import Iterator, Sequence

from lineage_merge.model.elements import field_path
from lineage_merge.sources.hive.syntax_tree import Token, closing, tokens


def parts_of(expression: str) -> Iterator[tuple[str, str]]:
    """Yield the fields that an expression builds by `field_path`, each with its own expression.

    Nothing for other expressions. Hive calls the fields of ``struct`` col1, col2, ...
    """
    for name, text in _parts(expression):
        inner = list(parts_of(text))
        yield from ((field_path(name, path), part) for path, part in inner)
        if not inner:
            yield name, text


def _parts(expression: str) -> Iterator[tuple[str, str]]:
    call = tokens(expression)
    if len(call) < 3 or call[0].text not in ("named_struct", "struct") or call[1].text != "(":
        return
    if closing(call, 1) != len(call) or call[-1].text != ")":
        return
    arguments = [expression[part[0].start : part[-1].end].strip() for part in _arguments(call[2:-1]) if part]
    if call[0].text == "struct":
        yield from ((f"col{position}", text) for position, text in enumerate(arguments, 1))
        return
    for name, text in zip(arguments[::2], arguments[1::2], strict=False):
        yield name.strip("'\""), text


def _arguments(call: Sequence[Token]) -> Iterator[list[Token]]:
    argument: list[Token] = []
    depth = 0
    for token in call:
        if token.kind == "other":
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(token.text, 0)
        if token.text == "," and token.kind == "other" and depth == 0:
            yield argument
            argument = []
        else:
            argument.append(token)
    yield argument
