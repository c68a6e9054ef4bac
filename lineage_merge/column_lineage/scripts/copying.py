"""COPY: the files that it reads, and the columns that they fill. Pure but for the JSONPaths file."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from sqlglot import exp

from lineage_merge.column_lineage.scripts.clauses import paths_of_copy
from lineage_merge.column_lineage.scripts.writes import LoadedColumns
from lineage_merge.column_lineage.sql.sql_values import SqlColumn, SqlValue, column_value, merge_values
from lineage_merge.model.elements import field_path

# Returns the paths of a JSONPaths file, None if it cannot be read.
ReadPaths = Callable[[str], Sequence[str] | None]
_SEGMENT = re.compile(r"\[\s*'([^']*)'\s*\]|\[\s*\"([^\"]*)\"\s*\]|\.([^.\[\]]+)|\[\s*\d+\s*\]")
_BY_POSITION = ("parquet", "orc")


class Options(NamedTuple):
    """The options of a COPY: format, path of its JSONPaths ("": by name), whether it has a manifest.

    `is_one_column`: a document is a value of the first column. `is_remote`: the path lists commands of hosts.
    """

    format: str = "csv"
    paths: str = ""
    is_manifest: bool = False
    is_one_column: bool = False
    is_remote: bool = False


def options_of(copy: exp.Copy) -> Options:
    """Return the options of a parsed COPY."""
    words: list[str] = []
    for parameter in copy.args.get("params") or ():
        for part in (parameter.this, parameter.args.get("expression")):
            if isinstance(part, exp.Expr):
                words.extend([part.name] if isinstance(part, exp.Literal) else part.name.split())
    lower = [word.lower() for word in words]
    if any(path.startswith("dynamodb://") for path in paths_of_copy(copy)):
        return Options("dynamodb")
    form = next((word for word in lower if word in ("json", "avro", "parquet", "orc")), "csv")
    paths = next((word for word in words if "://" in word and form in ("json", "avro")), "")
    return Options(form, paths, "manifest" in lower, "noshred" in lower, "ssh" in lower)


def manifest_of(copy: exp.Copy) -> str:
    """Return the location of the manifest of a COPY, "" without one."""
    if not options_of(copy).is_manifest:
        return ""
    return next(iter(paths_of_copy(copy)), "")


def replace_files(copy: exp.Copy, files: Sequence[str]) -> exp.Copy:
    """Return the COPY with the files that it really read, if they are known.

    A folder remains: it is the dataset, whatever it contained that day.
    """
    given = paths_of_copy(copy)
    if not options_of(copy).is_manifest:
        if not files or all(file.startswith(f"{path.rstrip('/')}/") for path in given for file in files):
            return copy
        if all(path.endswith("/") for path in given):
            return copy
    copy = copy.copy()
    copy.set("files", [exp.Literal.string(file) for file in files])
    return copy


def columns_of(
    read_paths: ReadPaths, copy: exp.Copy, names: Sequence[str], sources: Collection[str]
) -> LoadedColumns:
    """Return the values of the columns that a COPY fills, or why they are unknown.

    `names`: the columns of the table (empty: unknown). JSON, Avro and DynamoDB have columns of the same
    names, or JSONPaths in the order of the columns; Parquet and ORC are taken to have the same names, though
    Redshift goes by position.
    """
    given = [part.name for part in copy.this.expressions] if isinstance(copy.this, exp.Schema) else []
    targets = given or list(names)
    options = options_of(copy)
    if options.format == "csv":
        return LoadedColumns([], "COPY of text: the names of the fields are unknown")
    if not targets:
        return LoadedColumns([], "COPY without a column list: the columns of the table are unknown")
    if options.is_one_column:
        return LoadedColumns([], "COPY with noshred: a column has whole documents")
    if not options.paths:
        columns = [(name, _merge_sources(sources, [name])) for name in targets]
        return LoadedColumns(columns, assumed=options.format in _BY_POSITION)
    paths = read_paths(options.paths)
    if paths is None:
        return LoadedColumns([], f"COPY by JSONPaths: cannot read {options.paths}")
    segments = [_segments(path) for path in paths]
    return LoadedColumns(
        [(name, _merge_sources(sources, path)) for name, path in zip(targets, segments, strict=False) if path]
    )


def json_paths(text: str) -> list[str] | None:
    """Return the paths in the text of a JSONPaths file, None if it is none."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    paths = document.get("jsonpaths") if isinstance(document, dict) else None
    return [str(path) for path in paths] if isinstance(paths, list) else None


def _segments(path: str) -> list[str]:
    return [name for match in _SEGMENT.finditer(path) if (name := match[1] or match[2] or match[3])]


def _merge_sources(sources: Iterable[str], path: Sequence[str]) -> SqlValue:
    """Return the value of a column, or of a field of one, of each source."""
    return merge_values(column_value(SqlColumn(source, field_path(*path))) for source in sorted(sources))
