"""What functions in FROM read: tables named in their arguments, files, other systems. Pure.

A function that is in no table here and has no column as an argument may read anything: it is reported.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

# The first argument (or `path`, `uri`, `url`) is a path, or a list of paths.
_FILES = frozenset(
    """
    azureblobstorage azureblobstoragecluster cloud_files cosn delta_scan deltalake deltalakecluster file
    filecluster files gcs hdfs hdfscluster hive_scan hudi hudicluster iceberg iceberg_scan
    icebergcluster icebergs3 local ndjson_scan oss parquet_scan read_avro read_blob read_csv
    read_csv_auto read_files read_json read_json_auto read_json_objects read_json_objects_auto
    read_kafka_files read_ndjson read_ndjson_auto read_ndjson_objects read_parquet read_text read_xlsx
    s3 s3cluster st_read url urlcluster
    """.split()
)
_PATH_KEYS = frozenset({"bulk", "path", "uri", "url"})
# Another system, or the result of a statement that is only text.
_SYSTEMS = frozenset(
    """
    clustersecure dblink dblink_exec executable external_query jdbc mongo_scan mongodb mysql mysql_query
    mysql_scan odbc opendatasource openquery openrowset postgres_query postgres_scan postgresql query
    query_table raw_query read_kafka read_kinesis read_pubsub read_pulsar redis remote remotesecure
    result_scan sqlite sqlite_scan
    """.split()
)
# Functions that return rows of their arguments, or of nothing.
_GENERATORS = frozenset(
    """
    array_to_rows descriptor each_row enum_range explode explode_outer flatten generate_dates
    generate_numbers generate_rows generate_series generate_subscripts generaterandom generatesequence
    generateseries generator glob inline inline_outer input json_array_elements json_array_elements_text
    json_each json_each_text json_object_keys json_populate_record json_populate_recordset json_table
    json_to_record json_to_recordset json_tree jsonb_array_elements jsonb_array_elements_text jsonb_each
    jsonb_each_text jsonb_object_keys jsonb_path_query jsonb_populate_record jsonb_populate_recordset
    jsonb_to_record jsonb_to_recordset null numbers numbers_mt openjson openxml posexplode
    posexplode_outer pragma_table_info range regexp_matches regexp_split_to_table repeat sequence
    split_to_table stack string_split string_to_table table unnest values view viewifpermitted xmltable
    zeros zeros_mt
    """.split()
)
_DICTIONARY = "dictionary"
_CLUSTERS = frozenset({"cluster", "clusterallreplicas"})
# Tables in these schemas are the platform's own: they hold no data of users.
_OF_PLATFORM = frozenset({"information_schema", "pg_catalog", "sys", "system"})
_PATH = "path"


@dataclass(frozen=True, slots=True)
class ExternalReads:
    """What a function reads; `unknown` is its name if that is another system, or cannot be known."""

    tables: tuple[exp.Expr, ...] = ()
    paths: tuple[str, ...] = ()
    unknown: str = ""


def path_of(table: exp.Table) -> str:
    """Return the path of a table that `path_table` made, or that DuckDB reads as a file; "" of others."""
    return str(table.meta_get(_PATH, "")) or (
        table.name
        if "://" in table.name and not table.args.get("db") and isinstance(table.this, exp.Identifier)
        else ""
    )


def path_table(path: str) -> exp.Table:
    """Return a path as an item of FROM."""
    table = exp.Table(this=exp.to_identifier(path, quoted=True))
    table.meta[_PATH] = path
    return table


def external_reads(function: exp.Expr) -> ExternalReads:
    """Return what a function in FROM reads."""
    schema, call = _unwrap_call(function)
    name = _name_of(call)
    if isinstance(call, exp.Var):
        return ExternalReads()
    if schema.lower() in _OF_PLATFORM and name != "query":
        return ExternalReads()
    if isinstance(call, exp.SemanticView):
        return ExternalReads((call.this,))
    if isinstance(call, exp.Predict | exp.MLForecast):  # the first argument is the model
        data = [part for part in call.iter_expressions() if part is not call.this]
        return ExternalReads(tuple(_tables(*data)))
    if name in _FILES and (paths := tuple(_paths(call))):
        return ExternalReads(paths=paths)
    if name == _DICTIONARY and (first := _first(call)):
        return ExternalReads((exp.to_table(first),))
    if name in _CLUSTERS:
        columns = [part for part in call.expressions if isinstance(part, exp.Column)]
        return ExternalReads(tuple(_as_table(column) for column in columns))
    tables = tuple(_tables(call))
    if tables:
        return ExternalReads(tables)
    if name in _SYSTEMS | _FILES:
        return ExternalReads(unknown=name)
    is_known = not isinstance(call, exp.Anonymous) or name in _GENERATORS
    return ExternalReads(
        unknown="" if is_known or call.find(exp.Column) else ".".join(filter(None, (schema, name)))
    )


def _unwrap_call(function: exp.Expr) -> tuple[str, exp.Expr]:
    """Return the call inside of ``TABLE(...)`` and its schema."""
    schema = function.db if isinstance(function, exp.Table) else ""
    while True:
        if isinstance(function, exp.Dot) and function.this.find(exp.Column):
            return schema, function  # the method of a value
        if isinstance(function, exp.Dot):
            left = function.this
            schema = left.expression.name if isinstance(left, exp.Dot) else left.name
            function = function.expression
        elif isinstance(function, exp.Table | exp.TableFromRows | exp.Lateral | exp.Stream | exp.Window):
            function = function.this
        elif (
            isinstance(function, exp.Anonymous)
            and function.name.lower() == "table"
            and len(function.expressions) == 1
            and isinstance(function.expressions[0], exp.Func | exp.Dot)
        ):
            [function] = function.expressions
        else:
            return schema, function


def _name_of(call: exp.Expr) -> str:
    if isinstance(call, exp.Anonymous):
        return call.name.lower()
    return call.sql_name().lower() if isinstance(call, exp.Func) else ""


def _tables(*parts: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the tables that arguments name as such: ``TABLE t``, ``TABLE(t)``, a query."""
    pending = list(parts)
    while pending:
        part = pending.pop(0)
        if isinstance(part, exp.Table | exp.Query):
            yield part
        elif isinstance(part, exp.TableFromRows) or (
            isinstance(part, exp.Anonymous) and part.name.lower() == "table"
        ):
            inner = part.expressions or [part.this]
            for argument in inner:
                if isinstance(argument, exp.Column):
                    yield _as_table(argument)
                elif isinstance(argument, exp.Expr):
                    pending.append(argument)
        else:
            pending += [inner for inner in part.iter_expressions() if isinstance(inner, exp.Expr)]


def _as_table(column: exp.Column) -> exp.Table:
    parts = [part.copy() for part in column.parts]
    return exp.Table(**dict(zip(("this", "db", "catalog"), reversed(parts), strict=False)))


def _first(call: exp.Expr) -> str:
    argument = next(call.iter_expressions(), None)
    return argument.name if isinstance(argument, exp.Literal) and argument.is_string else ""


def _paths(call: exp.Expr) -> Iterator[str]:
    """Yield the paths among the arguments of a function that reads files."""
    for position, argument in enumerate(call.iter_expressions()):
        value: exp.Expr = argument
        if isinstance(argument, exp.Kwarg | exp.EQ | exp.PropertyEQ):
            if argument.this.name.lower() not in _PATH_KEYS:
                continue
            value = argument.expression
        elif position > 0:
            continue
        for literal in value.expressions if isinstance(value, exp.Array) else [value]:
            if isinstance(literal, exp.Literal) and literal.is_string:
                yield literal.name


def dictionary_entry(function: exp.Expr) -> tuple[exp.Expr, exp.Expr] | None:
    """Return what ClickHouse's ``dictGet('d.dic', 'kind', key)`` reads: a query of the attribute, the key."""
    if type(function) is not exp.Anonymous or not function.name.lower().startswith("dictget"):
        return None
    match function.expressions:
        case [exp.Literal() as name, exp.Literal() as attribute, exp.Expr() as key, *_]:
            column = exp.column(attribute.name, quoted=True)
            return exp.select(column).from_(exp.to_table(name.name)), key
    return None
