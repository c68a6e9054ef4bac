"""Statements that load files into tables, and write queries into files: COPY, LOAD DATA, EXPORT. Pure."""

from collections.abc import Iterable

from sqlglot import exp

from lineage_merge.column_lineage.scripts.clauses import literal_of, stage_of, uris_of
from lineage_merge.column_lineage.scripts.creation import Creation
from lineage_merge.column_lineage.scripts.writes import LoadedColumns, Mode, Reads, Write
from lineage_merge.column_lineage.sql.derivation import merge_columns
from lineage_merge.column_lineage.sql.external_reads import external_reads
from lineage_merge.column_lineage.sql.targets import by_name


class Files(Creation):
    """Reads the statements of a file that load or write files."""

    def _into_path(self, query: exp.Expr, path: str, mode: Mode) -> None:
        relation, reads = self._outcome(query)
        key = self._path(self._script.variables.restored(path))
        if key is None:
            return
        columns, problem = by_name(relation, ())
        if problem:
            self._note("no-columns", problem)
        self._found.writes.append(
            Write(key, self._line, mode, "file", reads, merge_columns(columns), relation.influences)
        )

    def _into_function(self, query: exp.Expr, function: exp.Expr, mode: Mode) -> None:
        """Read ClickHouse's ``INSERT INTO FUNCTION s3(...)``, and T-SQL's OPENQUERY as a target."""
        if not isinstance(function, exp.Func | exp.Schema):
            raise ValueError("inserts into what is no table")  # noqa: TRY004 - of a statement, not of a caller
        paths = external_reads(function).paths
        if len(paths) == 1:
            self._into_path(query, paths[0], mode)
            return
        self._outcome(query)
        name = function.this.name if isinstance(function, exp.Schema) else function.name
        self._note("skipped", f"inserts into a function that names no path: {name}")

    def _copy(self, copy: exp.Copy) -> None:
        sources: list[exp.Expr] = copy.args.get("files") or []
        first = sources[0] if sources else None
        written = literal_of(copy.this) or self.path_of_stage(stage_of(copy.this))
        if not copy.args.get("kind"):  # DuckDB, PostgreSQL: COPY ... TO
            path = literal_of(first)
            if path and self._path(path) is not None:
                self._into_path(_query_of(copy.this), path, "overwrite")
            else:
                self._outcome(_query_of(copy.this))
                self._note("skipped", "copies rows to where no dataset is known")
        elif written and first is not None:
            self._into_path(_query_of(first), written, "append")
        elif stage_of(copy.this):
            self._note("not-joined", f"writes to a stage whose location is unknown: {stage_of(copy.this)}")
        else:
            self._copy_into_table(copy, sources)

    def _copy_into_table(self, copy: exp.Copy, sources: list[exp.Expr]) -> None:
        paths: list[str] = []
        for source in sources:
            stage = stage_of(source)
            if path := literal_of(source) or self.path_of_stage(stage):
                paths.append(path)
            elif stage:
                self._note("not-joined", f"reads a stage whose location is unknown: {stage}")
        self._from_paths(copy.this, paths, "append", copy)

    def _load(self, load: exp.LoadData) -> None:
        mode: Mode = "overwrite" if load.args.get("overwrite") else "append"
        path = load.args.get("inpath")
        files = load.args.get("files")
        if isinstance(files, exp.Properties):  # BigQuery
            self._from_paths(load.this, uris_of(files.expressions), mode)
        elif isinstance(path, exp.Expr):
            self._from_paths(load.this, [path.name], mode)
        else:
            self._note("skipped", "loads files whose paths are unknown")

    def _export(self, export: exp.Export) -> None:
        """Read BigQuery's EXPORT DATA."""
        options = export.args.get("options")
        for uri in uris_of(options.expressions) if isinstance(options, exp.Properties) else ():
            self._into_path(export.this, uri, "overwrite")
            return
        self._note("skipped", "exports rows to where no dataset is known")

    def _from_paths(
        self, target: exp.Expr, paths: Iterable[str], mode: Mode, copy: exp.Copy | None = None
    ) -> None:
        table, target_key = self._named(target)
        sources = {key for path in paths if (key := self._path(path)) is not None}
        columns, problem, assumed = LoadedColumns([], "unknown")
        if copy is not None and self._load_columns is not None and sources:
            columns, problem, assumed = self._load_columns(copy, self._shape_of(table).names, sources)
            if problem:
                self._note("no-columns", problem)
        reads = Reads()
        for source in sources:
            reads.add(source, assumed=assumed, columns_lost=bool(problem))
        self._found.read.update(sources)
        temporary = self._temporary(table)
        if temporary is not None:
            temporary.add_rows(columns, {}, reads, overwrite=mode == "overwrite")
        elif target_key is not None:
            self._found.writes.append(
                Write(target_key, self._line, mode, None, reads, columns, assumed=assumed)
            )


def _query_of(source: exp.Expr) -> exp.Expr:
    """Return the rows that a COPY writes as a query."""
    if isinstance(source, exp.Subquery):
        return source.unnest()
    if isinstance(source, exp.Schema):
        return exp.select(*source.expressions).from_(source.this)
    return source
