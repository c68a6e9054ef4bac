"""Datasets of runs whose names are no names of datasets. Pure.

Connectors of Spark give a placeholder, or the text of a query, where they read a query; clients swap
namespace and name, leave a name empty, or put the names of columns in quotes.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from lineage_merge.column_lineage.transformations import InfluenceKind, Transformation, compose
from lineage_merge.naming import path_uri, redact
from lineage_merge.naming.identifiers import split_name
from lineage_merge.sources.openlineage.documents import Document
from lineage_merge.sources.openlineage.jobs import is_spark
from lineage_merge.sources.openlineage.runs import DatasetKey, Run

if TYPE_CHECKING:
    from lineage_merge.column_lineage.sql.pushed_queries import PushedQuery

# In the text of an event: fast, without parsing it.
_UNUSUAL = re.compile(
    r'"name": "(?:[^"\\]*\.)?(?:COMPLEX|QUERY)"|"name": "\s*"|"name": "[^"]*\b(?:select|with)\b[^"]*[\s(\\]'
    r'|"name": "\\"|"name": "[a-z][a-z0-9+.-]*://',
    re.IGNORECASE,
)
# What openlineage-spark writes for a query over JDBC, and to Snowflake; Google's connector for BigQuery.
_JDBC_QUERY, _BIGQUERY_QUERY = "COMPLEX", "QUERY"
_QUERY = re.compile(
    r"(?P<above>(?:[\w$-]+\.)*)\s*(?P<query>\(\s*(?:\(\s*)*(?:select|with)\b.*|(?:select|with)\s.*)",
    re.IGNORECASE | re.DOTALL,
)
_NAMESPACE = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s]+/?", re.IGNORECASE)
_DIALECTS = {"postgresql": "postgres", "mssql": "tsql", "sqlserver": "tsql", "awsathena": "athena"}
# Database and schema.
_ABOVE_A_TABLE = 2
_TWO_LEVELS = frozenset({"clickhouse", "databricks", "hive", "mariadb", "mysql", "spark"})
_QUOTED = re.compile(r'"(?:[^"]|"")+"')
_INFLUENCES = frozenset(kind.value for kind in InfluenceKind)


class _Meaning(NamedTuple):
    """What a dataset of an event stands for: other datasets, those of a `query`, or none (`problem`)."""

    keys: tuple[DatasetKey, ...]
    problem: str = ""
    query: "PushedQuery | None" = None
    above: tuple[str, ...] = ()


def may_have_unusual_names(event: str) -> bool:
    """Return whether the text of an event may have datasets that `with_known_datasets` changes."""
    return _UNUSUAL.search(event) is not None


def with_known_datasets(run: Run) -> Run:
    """Return a run with the datasets that its names stand for; `problems` say which are unknown."""
    of_spark = is_spark(run)
    meanings = {
        key: _interpret(key, of_spark=of_spark)
        for key in {*run.inputs, *run.outputs, *_list_referenced(run.outputs)}
    }
    problems = [
        f"{'an output' if key in run.outputs else 'an input'} {meaning.problem}"
        for key, meaning in sorted(meanings.items())
        if meaning.problem
    ]
    inputs = _replace_unusual(run.inputs, meanings)
    outputs = {
        key: _replace_columns(document, meanings)
        for key, document in _replace_unusual(run.outputs, meanings).items()
    }
    return replace(run, inputs=inputs, outputs=outputs, problems=tuple(dict.fromkeys(problems)))


def find_key(key: DatasetKey) -> DatasetKey | None:
    """Return the namespace and name of a dataset that an event is about, None if it is none."""
    keys = _interpret(key, of_spark=False).keys
    return keys[0] if len(keys) == 1 else None


def _list_referenced(outputs: Mapping[DatasetKey, Document]) -> Iterator[DatasetKey]:
    for document in outputs.values():
        for field in _input_fields(_column_lineage(document)):
            yield field["namespace"], field["name"]


def _column_lineage(document: Document) -> Mapping[str, Any]:
    return (document.get("facets") or {}).get("columnLineage") or {}


def _input_fields(facet: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for column in (facet.get("fields") or {}).values():
        yield from column.get("inputFields") or ()
    yield from facet.get("dataset") or ()


@lru_cache(maxsize=1024)
def _interpret(key: DatasetKey, *, of_spark: bool) -> _Meaning:
    namespace, name = key
    if not name.strip():
        return _Meaning((), f"in {redact(namespace) or 'no namespace'} has no name")
    if _NAMESPACE.fullmatch(name) and "://" not in namespace and namespace.strip():
        return _Meaning(((name, namespace),))
    if path_uri(namespace, name):
        return _Meaning((key,))
    *above, last = split_name(name)
    placeholder = _BIGQUERY_QUERY if namespace.lower().startswith("bigquery") else _JDBC_QUERY
    # Of other clients, a table with a complete name may be called so.
    if last == (placeholder, False) and (of_spark or len(above) < _ABOVE_A_TABLE):
        what = f"is named {placeholder}, which stands for a query: its tables are unknown"
        return _Meaning((), f"in {redact(namespace)} {what}")
    if query := _QUERY.fullmatch(name):
        return _tables_of_query(namespace, query["above"], query["query"])
    return _Meaning((key,))


def _tables_of_query(namespace: str, above: str, text: str) -> _Meaning:
    try:
        from lineage_merge.column_lineage.sql.pushed_queries import PushedQuery, UnreadableQuery
    except ModuleNotFoundError as error:
        if error.name != "sqlglot":
            raise
        return _Meaning((), f"in {redact(namespace)} is a query, whose tables need sqlglot")
    scheme = namespace.partition(":")[0].lower()
    try:
        query = PushedQuery(text, "", _dialect(scheme))
    except UnreadableQuery as error:
        return _Meaning((), f"in {redact(namespace)} is a query whose tables are unknown: {error}")
    parts = tuple(part for part in above.split(".") if part)
    names = [table.removeprefix(":") for table in query.tables]
    return _Meaning(
        tuple((namespace, _table(scheme, parts, name)) for name in names), query=query, above=parts
    )


def _dialect(scheme: str) -> str:
    from sqlglot import Dialect

    name = _DIALECTS.get(scheme, scheme)
    return name if Dialect.get(name) else ""


def _table(scheme: str, above: tuple[str, ...], name: str) -> str:
    """Return a table of a query below the database, and schema, of its connection."""
    levels = 2 if scheme in _TWO_LEVELS else 3
    own = len(split_name(name))
    parts = above[: max(levels - own, 0)]
    if levels == 3 and own == 1 and len(parts) == 1:
        parts = (*parts, "")  # an unknown schema
    return ".".join((*parts, name))


def _replace_unusual(
    documents: Mapping[DatasetKey, Document], meanings: Mapping[DatasetKey, _Meaning]
) -> dict[DatasetKey, Document]:
    known: dict[DatasetKey, Document] = {}
    for key, document in documents.items():
        meaning = meanings[key]
        for namespace, name in meaning.keys:
            named = {"namespace": namespace, "name": name}
            # The schema of a query is not that of its tables.
            described = {**_strip_quotes(document, (namespace, name)), **named}
            known.setdefault((namespace, name), named if meaning.query else described)
    return dict(sorted(known.items()))


def _strip_quotes(document: Document, key: DatasetKey) -> Document:
    """Return a table whose columns have no quotes around their names."""
    facets: Mapping[str, Any] = document.get("facets") or {}
    if not facets or path_uri(*key):
        return document
    changed = dict(facets)
    if fields := (facets.get("schema") or {}).get("fields"):
        fields = [{**field, "name": _unquote(field["name"])} for field in fields]
        changed["schema"] = {**facets["schema"], "fields": fields}
    if columns := (facets.get("columnLineage") or {}).get("fields"):
        columns = {_unquote(name): column for name, column in columns.items()}
        changed["columnLineage"] = {**facets["columnLineage"], "fields": columns}
    return {**document, "facets": changed}


def _unquote(name: str) -> str:
    # Within quotes SQL doubles a quote; a single one belongs to the name.
    return name[1:-1].replace('""', '"') if _QUOTED.fullmatch(name) else name


def _replace_columns(document: Document, meanings: Mapping[DatasetKey, _Meaning]) -> Document:
    facet = _column_lineage(document)
    if not facet:
        return document
    fields = {
        name: {**column, "inputFields": list(_replace_fields(column.get("inputFields") or (), meanings))}
        for name, column in (facet.get("fields") or {}).items()
    }
    known = {
        **facet,
        "fields": fields,
        "dataset": list(_replace_fields(facet.get("dataset") or (), meanings)),
    }
    return {**document, "facets": {**document["facets"], "columnLineage": known}}


def _replace_fields(
    fields: Iterable[Mapping[str, Any]], meanings: Mapping[DatasetKey, _Meaning]
) -> Iterator[Mapping[str, Any]]:
    for field in fields:
        meaning = meanings[field["namespace"], field["name"]]
        if meaning.query is not None:
            yield from _fields_of_query(field, meaning, meaning.query)
            continue
        for namespace, name in meaning.keys:
            column = field["field"] if path_uri(namespace, name) else _unquote(field["field"])
            yield {**field, "namespace": namespace, "name": name, "field": column}


def _fields_of_query(
    field: Mapping[str, Any], meaning: _Meaning, query: "PushedQuery"
) -> Iterator[Mapping[str, Any]]:
    """Yield the columns behind one of a query's."""
    (flows,) = query.columns([_unquote(field["field"])]).flows
    scheme = field["namespace"].partition(":")[0].lower()
    for flow in flows or ():
        name = _table(scheme, meaning.above, flow.source.removeprefix(":"))
        given = field.get("transformations") or ({"type": "DIRECT", "subtype": "IDENTITY"},)
        yield {
            **field,
            "name": name,
            "field": flow.column,
            "transformations": [
                _compose_transformation(transformation, further)
                for transformation in given
                for further in flow.transformations
            ],
        }


def _compose_transformation(transformation: Mapping[str, Any], further: Transformation) -> Mapping[str, Any]:
    subtype = str(transformation.get("subtype") or "").strip().upper()
    if subtype in _INFLUENCES or subtype not in Transformation.__members__:
        return transformation
    composed = compose(Transformation[subtype], further)
    kind = "INDIRECT" if composed >= Transformation.CONDITIONAL else "DIRECT"
    return {**transformation, "type": kind, "subtype": composed.name}
