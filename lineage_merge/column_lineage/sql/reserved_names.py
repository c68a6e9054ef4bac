"""Unquoted names in expressions that are no columns: keywords and pseudo-columns, by platform. Pure.

A name is a keyword only on the platforms that reserve it, and a unit of time only as that argument of a
function; elsewhere it is a column.
"""

from collections.abc import Mapping, Sequence

from sqlglot import exp

from lineage_merge.column_lineage import pseudo_columns
from lineage_merge.column_lineage.sql.parsing import get_written_name
from lineage_merge.column_lineage.sql.scope import Relation

_UNITS = frozenset(
    """
    year years yy yyyy quarter qtr q month months mon mm week weeks wk w iso_week isoweek day days dd
    d dayofweek dow dayofyear doy hour hours hh minute minutes mi second seconds sec ss s millisecond
    milliseconds ms microsecond microseconds us nanosecond nanoseconds ns epoch decade century
    """.split()
)
# Functions whose unit the parser takes for a column, by the position of the unit and the number of arguments.
_WITH_UNIT: Mapping[tuple[int, int], frozenset[str]] = {
    (0, 2): frozenset({"datename", "datepart"}),
    (0, 3): frozenset(
        """
        date_bucket dateadd datediff datediff_big interval_cmp time_diff timediff timestampadd timestampdiff
        """.split()
    ),
    (1, 2): frozenset({"trunc"}),
}
# Functions that are written without parentheses, and that the parser takes for columns.
_FUNCTIONS: Mapping[str, frozenset[str]] = {
    "exasol": frozenset({"rownum", "sysdate", "systimestamp"}),
    "materialize": frozenset({"current_role"}),
    "oracle": frozenset({"rownum", "sysdate", "systimestamp"}),
    "postgres": frozenset({"current_role"}),
    "risingwave": frozenset({"current_role"}),
    "teradata": frozenset({"current_role"}),
}
# In a query with CONNECT BY.
_OF_HIERARCHIES = frozenset({"connect_by_iscycle", "connect_by_isleaf", "level"})

_TRINO = frozenset({"$bucket", "$file_modified_time", "$file_size", "$partition", "$path"})
_SPECTRUM = frozenset({"$path", "$size", "$spectrum_oid"})
_SNOWFLAKE = frozenset(
    """
    metadata$action metadata$file_content_key metadata$file_last_modified metadata$file_row_number
    metadata$filename metadata$isupdate metadata$row_id metadata$start_scan_time
    """.split()
)
_FILES_OF_SPARK = frozenset({pseudo_columns.FILE_METADATA})
# The location of a row, or its change.
_OF_PLATFORMS: Mapping[str, frozenset[str]] = {
    "athena": _TRINO,
    "bigquery": frozenset({"_file_name", "_partitiondate", "_partitiontime", "_table_suffix"}),
    "databricks": _FILES_OF_SPARK,
    "presto": _TRINO,
    "redshift": _SPECTRUM,
    "snowflake": _SNOWFLAKE,
    "spark": _FILES_OF_SPARK,
    "trino": _TRINO,
}
# Any other table may store such a column, unless all its columns are known.
_OF_FORMATS = pseudo_columns.ICEBERG.union(pseudo_columns.ICEBERG_CHANGE, pseudo_columns.DELTA_CHANGE)


def is_keyword(column: exp.Column, name: str, platform: str) -> bool:
    """Return whether an unqualified name stands for a function or a unit of time."""
    if column.this.args.get("quoted"):
        return False
    name = name.lower()
    if name in _FUNCTIONS.get(platform, ()):
        return True
    if name in _OF_HIERARCHIES:
        query = column.find_ancestor(exp.Select)
        return query is not None and query.args.get("connect") is not None
    return name in _UNITS and _is_unit(column)


def _is_unit(column: exp.Column) -> bool:
    function: exp.Expr | None = column.parent
    if not isinstance(function, exp.Func):
        return False
    if column.arg_key == "unit":
        return True
    arguments = list(function.iter_expressions())
    position = [id(argument) for argument in arguments].index(id(column))
    name = function.name if isinstance(function, exp.Anonymous) else get_written_name(function)
    return name.lower() in _WITH_UNIT.get((position, len(arguments)), ())


def is_pseudo_column(name: str, relations: Sequence[Relation], platform: str) -> bool:
    """Return whether a name in a query over the relations is a pseudo-column, which none of them stores."""
    name = name.lower()
    is_of_platform = name in _OF_PLATFORMS.get(platform, ())
    if not is_of_platform and name not in _OF_FORMATS:
        return False
    if any(relation.knows(name) for relation in relations):
        return False
    return is_of_platform or all(relation.closed for relation in relations)
