"""Repeated findings as one line: the common prefix of their documents, ``*`` and their number."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lineage_merge.model.elements import Problem

# Fewer findings are listed one by one.
MIN_GROUP = 3
_SEPARATORS = "/.|"


def collapsed(problems: Iterable["Problem"]) -> list[str]:
    """Return a line per problem, or per group with one message and one folder, schema or database.

    22 problems of ``/data/tpch/q01`` and so on are ``/data/tpch/q* (22)``.
    """
    groups: dict[tuple[str, str, str], list[Problem]] = defaultdict(list)
    for problem in problems:
        groups[problem.field, problem.message, _parent(problem.document)].append(problem)
    return [line for members in groups.values() for line in _lines(members)]


def problem_text(problem: "Problem") -> str:
    """Return a line such as ``operation/17: outputSource: is missing``."""
    return _text(problem.document, problem)


def _lines(members: list["Problem"]) -> Iterator[str]:
    documents = [each.document for each in members]
    if len(set(documents)) < MIN_GROUP:
        yield from map(problem_text, members)
    else:
        yield _text(f"{_common_prefix(documents)}* ({len(members):,})", members[0])


def _text(document: str, problem: "Problem") -> str:
    return ": ".join(part for part in (document, problem.field, problem.message) if part)


def _common_prefix(documents: list[str]) -> str:
    """Return the text with which all documents begin; it may end within a name."""
    first, last = min(documents), max(documents)
    end = next(
        (index for index, pair in enumerate(zip(first, last, strict=False)) if len({*pair}) > 1), len(first)
    )
    return first[:end]


def _parent(document: str) -> str:
    """Return the text up to the last separator of a name."""
    end = max(document.rfind(separator) for separator in _SEPARATORS)
    return document[: end + 1]
