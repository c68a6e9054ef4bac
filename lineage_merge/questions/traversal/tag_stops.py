"""Where a tag stops: the settings of one tag, applied to edges, datasets and columns. Pure.

Expressions are readable text of Spark or of a SQL dialect, possibly cut. Where the text leaves a doubt, a
tag does not stop at a function.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from lineage_merge.column_lineage.transformations import InfluenceKind
from lineage_merge.config.propagation import Cleared, Propagation
from lineage_merge.graph_format.elements import Edge, Vertex, name_of_id
from lineage_merge.merge.metadata_rules import column_matches, dataset_matches, glob_names, matching_glob
from lineage_merge.model.elements import column_of, dataset_of, dot_path
from lineage_merge.model.errors import ConfigError

if TYPE_CHECKING:
    from sqlglot import exp


# Longer texts are cut by the sources.
_MAX_LENGTH = 1_000
# The name may be quoted, and have a schema: "gov"."mask"(email), `project.gov.mask`(email).
_CALL = re.compile(r"([A-Za-z_]\w*)[`\"]?\s*\(")
_NAMED = re.compile(r"\sas\s+[`\"]?\w+[`\"]?\s*$", re.IGNORECASE)
_NO_SQLGLOT = "needs sqlglot. Fix: install lineage-merge[columns]"


def may_call(expression: str, functions: Sequence[str]) -> bool:
    """Return whether the text can contain a call of a function that a glob matches; without parsing."""
    return any(_matches(name, functions) for name in _CALL.findall(expression))


def enclosing_function(
    expression: str, column: str, functions: Sequence[str], columns: Collection[str]
) -> str:
    """Return the function whose calls contain all occurrences of a column, "" if there is none.

    `columns`: names of all columns from which the value is computed. Names are compared in any case. Outside
    of such calls, another name may be the column under another name (``SELECT email AS raw``): a doubt. If
    all names are inside, so is the column: ``md5(raw)``.
    """
    if len(expression) >= _MAX_LENGTH:
        return ""
    known = {column.lower() for column in columns}
    wanted = column.lower()
    exact: set[str] = set()
    renamed: set[str] = set()
    is_all_inside = True
    for names, calls in _parse(expression):
        inside = next((call for call in calls if _matches(call, functions)), "")
        if inside:
            (exact if wanted in names else renamed).add(inside)
        elif wanted in names or not names & known:
            return ""
        else:
            is_all_inside = False
    return min(exact or (renamed if is_all_inside else ()), default="")


def _matches(function: str, globs: Sequence[str]) -> bool:
    return any(fnmatchcase(function.lower(), glob.lower()) for glob in globs)


@lru_cache(maxsize=10_000)
def _parse(expression: str) -> tuple[tuple[frozenset[str], tuple[str, ...]], ...]:
    """Return each referenced column's possible names, and the functions around it, innermost first.

    Empty if the text cannot be parsed. `contact.email` is a column of a table or a field of a column.
    """
    try:
        from sqlglot import ErrorLevel, exp, parse_one
        from sqlglot.errors import SqlglotError
    except ImportError:
        raise ConfigError("propagation", f"stop_at_functions {_NO_SQLGLOT}") from None
    dialect = "spark" if "`" in expression else None
    try:
        tree = parse_one(expression, dialect=dialect, error_level=ErrorLevel.RAISE)
    except (SqlglotError, RecursionError, ValueError):
        return ()
    if _NAMED.search(expression):
        tree = tree.unalias()
    written = {name.lower() for name in _CALL.findall(expression)}
    calls = []
    for name in tree.find_all(exp.Identifier):
        whole = name.parent if isinstance(name.parent, exp.Column) else name
        names = frozenset(str(identifier.name).lower() for identifier in whole.find_all(exp.Identifier))
        calls.append((names, tuple(function for function in _functions_around(whole) if function in written)))
    return tuple(dict.fromkeys(calls))


def _functions_around(node: "exp.Expr") -> Iterator[str]:
    """Yield the names of functions, in lower case: sqlglot has several for one function."""
    from sqlglot import exp

    parent = node.parent
    while parent is not None:
        called = parent.expression if isinstance(parent, exp.Dot) else None
        if isinstance(called, exp.Anonymous) and called is not node:
            # The schema of a function, or in DuckDB its first argument: name.lower().
            yield _name(called)
        elif isinstance(parent, exp.Anonymous):
            yield _name(parent)
        elif isinstance(parent, exp.Func) and not isinstance(parent, exp.Case | exp.Connector):
            yield from (name.lower() for name in parent.sql_names())
        node, parent = parent, parent.parent


def _name(call: "exp.Anonymous") -> str:
    """Return the name of a function, in lower case, without its schema."""
    return str(call.name).rpartition(".")[2].lower()


# What ended a tag: a transformation, `influences`, a function, a dataset, or `clear`.
StopKind = Literal["transformation", "influences", "function", "dataset", "cleared"]
_INFLUENCES = "influences"
_IDENTITY = "IDENTITY"
_OF_ROWS = frozenset(InfluenceKind)


class StopReason(NamedTuple):
    """Why a tag ends: a transformation, a function, a glob on datasets, or the reason of `clear`."""

    kind: StopKind
    reason: str


@dataclass(frozen=True, slots=True)
class TagStops:
    """The settings of one tag.

    `datasets`: vertices by id. `sources`: names of all columns that feed a column, of columns with an
    expression that `may_stop_at_function`.
    """

    settings: Propagation
    datasets: Mapping[str, Vertex]
    sources: Mapping[str, Collection[str]]
    _dataset_globs: dict[str, str] = field(default_factory=dict)
    _cleared: dict[str, tuple[Cleared, ...]] = field(default_factory=dict)

    def find_at_edge(self, edge: Edge) -> StopReason | None:
        """Return why the tag does not pass an edge, None if it does."""
        settings = self.settings
        if settings.stop_at:
            if _INFLUENCES in settings.stop_at and decides_on_rows(edge):
                return StopReason("influences", _INFLUENCES)
            chains = _chains(edge)
            # Several chains: all of them must stop.
            if chains and settings.stop_at.issuperset(chains):
                return StopReason("transformation", ",".join(chains))
        if settings.stop_at_functions and may_stop_at_function(edge, settings):
            column = name_of_id(edge.from_id)
            sources = self.sources.get(edge.to_id, (column,))
            expression = str(edge.properties["expression"])
            function = enclosing_function(expression, column, settings.stop_at_functions, sources)
            if function:
                return StopReason("function", function)
        target = edge.to_id if edge.label != "feeds_column" else dataset_of(edge.to_id)
        glob = self._glob_of(target) if settings.stop_at_datasets else ""
        return StopReason("dataset", glob) if glob else None

    def find_at_column(self, column: str) -> StopReason | None:
        """Return why a column does not carry the tag, None if it may."""
        if not self.settings.clear:
            return None
        dataset = dataset_of(column)
        if dataset not in self._cleared:
            names = self._names(dataset)
            self._cleared[dataset] = tuple(
                rule for rule in self.settings.clear if dataset_matches(names, rule.dataset)
            )
        name = dot_path(column_of(column))
        rules = (rule for rule in self._cleared[dataset] if column_matches(name, rule.column))
        rule = next(rules, None)
        return StopReason("cleared", rule.reason) if rule else None

    def _glob_of(self, dataset: str) -> str:
        if dataset not in self._dataset_globs:
            globs = self.settings.stop_at_datasets
            self._dataset_globs[dataset] = matching_glob(self._names(dataset), globs)
        return self._dataset_globs[dataset]

    def _names(self, dataset: str) -> set[str]:
        vertex = self.datasets.get(dataset)
        return glob_names(dataset, str(vertex.properties.get("qualified_name") or "") if vertex else "")


def may_stop_at_function(edge: Edge, settings: Propagation) -> bool:
    """Return whether the expression of an edge can contain a call at which the tag stops.

    An unchanged copy among the chains has no expression.
    """
    expression = edge.properties.get("expression")
    return bool(
        expression
        and settings.stop_at_functions
        and _IDENTITY not in _chains(edge)
        and may_call(str(expression), settings.stop_at_functions)
    )


def sources_by_column(edges: Iterable[Edge]) -> dict[str, set[str]]:
    """Return the names of the columns that feed each column."""
    sources: dict[str, set[str]] = {}
    for edge in edges:
        sources.setdefault(edge.to_id, set()).add(name_of_id(edge.from_id))
    return sources


def decides_on_rows(edge: Edge) -> bool:
    """Return whether an edge is an influence on rows: of a dataset, or of a visual, which is a column."""
    return edge.label == _INFLUENCES or (bool(chains := _chains(edge)) and _OF_ROWS.issuperset(chains))


def _chains(edge: Edge) -> tuple[str, ...]:
    return tuple(kind for kind in str(edge.properties.get("transformation", "")).split(",") if kind)
