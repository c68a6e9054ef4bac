"""Statements that load files into tables, and write queries into files: COPY, LOAD DATA, EXPORT. Pure."""

from collections.abc import Iterable

from sqlglot import exp

from lineage_merge.column_lineage.scripts.clauses import literal_of, stage_of, uris_of
from lineage_merge.column_lineage.scripts.context import FileState
from lineage_merge.column_lineage.scripts.writes import LoadColumns, LoadedColumns, Mode, Reads, Write
from lineage_merge.column_lineage.sql.external_reads import external_reads
from lineage_merge.column_lineage.sql.targets import match_by_name


class Files:
    """Reads the statements of a file that load or write files."""

    def __init__(self, state: FileState, load_columns: LoadColumns | None) -> None:
        self._state = state
        self._load_columns = load_columns

    def write_path(self, query: exp.Expr, path: str, mode: Mode) -> None:
        """Read a statement that writes the rows of a query to a path."""
        relation, reads = self._state.read_query(query)
        if (key := self._state.find_path(self._state.variables.restore_templates(path))) is not None:
            columns, problem = match_by_name(relation, ())
            self._state.note_columns(problem)
            write = Write(key, self._state.line, mode, "file", reads, columns, relation.rows)
            self._state.add_write(write)

    def write_function(self, query: exp.Expr, function: exp.Expr, mode: Mode) -> None:
        """Read ClickHouse's ``INSERT INTO FUNCTION s3(...)``, and T-SQL's OPENQUERY as a target."""
        if not isinstance(function, exp.Func | exp.Schema):
            raise ValueError("inserts into what is no table")  # noqa: TRY004 - of a statement, not of a caller
        paths = external_reads(function).paths
        if len(paths) == 1:
            self.write_path(query, paths[0], mode)
            return
        self._state.read_query(query)
        name = function.this.name if isinstance(function, exp.Schema) else function.name
        self._state.note("skipped", f"inserts into a function that names no path: {name}")

    def copy(self, copy: exp.Copy) -> None:
        """Read COPY of files into a table, or of rows into files."""
        sources: list[exp.Expr] = copy.args.get("files") or []
        first = sources[0] if sources else None
        stage = stage_of(copy.this)
        written = literal_of(copy.this) or self._state.find_stage(stage)
        if not copy.args.get("kind"):  # DuckDB, PostgreSQL: COPY ... TO
            path = literal_of(first)
            if path and self._state.find_path(path) is not None:
                self.write_path(_query_of(copy.this), path, "overwrite")
            else:
                self._state.read_query(_query_of(copy.this))
                self._state.note("skipped", "copies rows to where no dataset is known")
        elif written and first is not None:
            self.write_path(_query_of(first), written, "append")
        elif stage:
            self._state.note("not-joined", f"writes to a stage whose location is unknown: {stage}")
        else:
            paths = [path for source in sources if (path := self._state.find_source(source))]
            self._read_paths(copy.this, paths, "append", copy)

    def load(self, load: exp.LoadData) -> None:
        """Read LOAD DATA of Hive and BigQuery."""
        mode: Mode = "overwrite" if load.args.get("overwrite") else "append"
        path = load.args.get("inpath")
        files = load.args.get("files")
        if isinstance(files, exp.Properties):  # BigQuery
            self._read_paths(load.this, uris_of(files.expressions), mode)
        elif isinstance(path, exp.Expr):
            self._read_paths(load.this, [path.name], mode)
        else:
            self._state.note("skipped", "loads files whose paths are unknown")

    def export(self, export: exp.Export) -> None:
        """Read BigQuery's EXPORT DATA."""
        options = export.args.get("options")
        for uri in uris_of(options.expressions) if isinstance(options, exp.Properties) else ():
            self.write_path(export.this, uri, "overwrite")
            return
        self._state.note("skipped", "exports rows to where no dataset is known")

    def _read_paths(
        self, node: exp.Expr, paths: Iterable[str], mode: Mode, copy: exp.Copy | None = None
    ) -> None:
        target = self._state.find_target(node)
        sources = {key for path in paths if (key := self._state.find_path(path)) is not None}
        columns, problem, assumed = LoadedColumns([], "unknown")
        if copy is not None and self._load_columns is not None and sources:
            names = self._state.find_shape(target.table).names
            columns, problem, assumed = self._load_columns(copy, names, sources)
            self._state.note_columns(problem)
        reads = Reads()
        for source in sources:
            reads.add(source, assumed=assumed, columns_lost=bool(problem))
        self._state.lineage.read.update(sources)
        write = Write(target.key or "", self._state.line, mode, None, reads, columns, assumed=assumed)
        self._state.add_write(write, target.temporary)


def _query_of(source: exp.Expr) -> exp.Expr:
    """Return the rows that a COPY writes as a query."""
    if isinstance(source, exp.Subquery):
        return source.unnest()
    if isinstance(source, exp.Schema):
        return exp.select(*source.expressions).from_(source.this)
    return source
