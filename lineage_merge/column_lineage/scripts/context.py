"""State at one position in a file: names, tables, and how its queries are read. Pure."""

from collections.abc import Mapping, Set

from sqlglot import Dialect, exp

from lineage_merge.column_lineage.scripts.clauses import is_value, literal_of, stage_of
from lineage_merge.column_lineage.scripts.datasets import Datasets, path_of_table
from lineage_merge.column_lineage.scripts.results import Created, FileLineage
from lineage_merge.column_lineage.scripts.shapes import NOTHING, Shape, ShapeColumn, Shapes
from lineage_merge.column_lineage.scripts.syntax import Script
from lineage_merge.column_lineage.scripts.temporaries import Temporaries, Temporary, dropped_again
from lineage_merge.column_lineage.scripts.writes import LoadColumns, Note, Reads
from lineage_merge.column_lineage.sql.derivation import ColumnOrigin
from lineage_merge.column_lineage.sql.names import PartOfTable, is_dual, part_of_table
from lineage_merge.column_lineage.sql.parsing import with_deep_stack
from lineage_merge.column_lineage.sql.platforms import platform_of
from lineage_merge.column_lineage.sql.query import Queries
from lineage_merge.column_lineage.sql.scope import Relation
from lineage_merge.column_lineage.sql.tables import AllColumns, KnownTable, fold
from lineage_merge.column_lineage.sql.text import reason
from lineage_merge.model.elements import DatasetLabel

# Platforms that accept a SELECT with fewer columns than the table, whose RENAME TO has no schema, and whose
# temporary tables are in a schema of their session.
POSTGRES = frozenset({"postgres", "redshift", "materialize", "risingwave"})


class Context:
    """The state of a file between its statements; statement readers build on it."""

    def __init__(
        self,
        script: Script,
        dialect: Dialect,
        datasets: Datasets,
        shapes: Shapes,
        *,
        assume_insert_names: bool = False,
        load_columns: LoadColumns | None = None,
    ) -> None:
        self._script = script
        self._dialect = dialect
        self._platform = platform_of(dialect)
        self._datasets = datasets
        self._shapes = shapes
        self._assume_insert_names = assume_insert_names
        self._load_columns = load_columns
        self._database: tuple[str, ...] = ()
        self._temporaries = Temporaries()
        self._dropped_later = dropped_again(script, self._platform, self._key)
        self._found = FileLineage(script.name)
        self._tables: dict[str, KnownTable] = {}
        self._all_tables: list[KnownTable] = []
        self._notes: dict[tuple[int, str], dict[str, None]] = {}
        self._line = 0
        self._variables: Set[str] = frozenset()
        self._records: set[str] = set()
        # Snowflake: the path of each stage that the file creates, by folded name.
        self._stages: dict[str, str] = {}
        self._outcomes: list[tuple[Queries, Relation]] = []
        # Facts from other files that the interpretation of this one depends on.
        self.asked: dict[str, Shape | None] = {}
        # Tables that the file itself creates, under their current names.
        self._own: dict[str, Shape] = {}
        # The types of their columns, with the shape that has them.
        self._types: dict[str, tuple[Shape, Mapping[str, str]]] = {}

    def _key(self, table: exp.Table, database: tuple[str, ...] | None = None) -> str | None:
        used = self._database if database is None else database
        return self._datasets.of_table(table, used, self._script.variables)

    def _named(self, node: exp.Expr) -> tuple[exp.Table, str | None]:
        """Return the table of a target, and its dataset; None and a note if it cannot be known.

        A branch of Iceberg's is its table.
        """
        table = node.find(exp.Table) if not isinstance(node, exp.Table) else node
        if table is None:
            raise ValueError("target without a name")
        part = part_of_table(table, self._platform)
        if part is not None and part.part == "rows" and self._is_part(table, part):
            part.table.set("partition", table.args.get("partition"))
            table = part.table
        key = self._key(table)
        if key is None and self._temporary(table) is None:
            self._unknown(table)
        return table, key

    def _unknown(self, table: exp.Table) -> None:
        names = [part.name for part in table.parts]
        path = path_of_table(table)
        if path and not any(map(self._script.variables.in_name, names)):
            problem = f"{path} is a path without a file system, so it names no dataset: write s3:// or file:"
        else:
            problem = f"{'.'.join(names)} has a variable in its name: set its value with --var"
        self._note("not-joined", problem)

    def _temporary(self, table: exp.Table) -> Temporary | None:
        return self._temporaries.find(table, self._key(table))

    def _path(self, path: str) -> str | None:
        key = self._datasets.of_path(path, self._script.variables)
        if key is None:
            self._note("not-joined", f"{path} is a path with an unknown file system or folder")
        return key

    def _note(self, kind: str, message: str) -> None:
        note = Note(kind, self._line, message)  # type: ignore[arg-type]
        if note not in self._found.notes:
            self._found.notes.append(note)

    # ---- queries

    def _outcome(self, query: exp.Expr) -> tuple[Relation, Reads]:
        """Return the result of a query, and the datasets that it reads."""
        reads = Reads()
        line = self._line

        def noted(what: str, name: str) -> None:
            self._notes.setdefault((line, what), {})[name] = None

        reader = Queries(
            self._dialect,
            lambda table: self._meaning(table, reads),
            noted,
            variables=self._variables,
            type_of=self._type_of,
        )
        try:
            relation = with_deep_stack(lambda: reader.read(query))
            self._outcomes.append((reader, relation))
        except Exception as error:  # noqa: BLE001 - a gap in reading columns costs the statement's columns
            self._note("no-columns", f"cannot read the columns: {reason(error, line)}")
            inner = {fold(cte.alias) for cte in query.find_all(exp.CTE)}
            for table in query.find_all(exp.Table):
                if table.args.get("db") or fold(table.name) not in inner:
                    self._meaning(table, reads)
            relation = Relation([AllColumns(None)])
        self._found.read.update(reads)
        return relation, reads

    def _meaning(self, table: exp.Table, reads: Reads) -> KnownTable | Relation | None:
        if is_value(table):
            return None
        part = part_of_table(table, self._platform)
        if part is not None and self._is_part(table, part):
            key = self._key(part.table)
            if key is None:
                self._unknown(part.table)
                return Relation([AllColumns(None)])
            reads.add(key, rows=part.part != "metadata")
            return part.relation(self._table(key))
        if (stage := stage_of(table)) or literal_of(table):
            return self._files(stage, literal_of(table), reads)
        if not isinstance(table.parts[-1], exp.Identifier):
            return None
        temporary = self._temporary(table)
        if temporary is not None:
            reads.include(temporary.reads, {temporary.name})
            return temporary.relation
        if table.name.startswith("@"):  # a parameter of T-SQL
            return Relation([AllColumns(None)])
        key = self._key(table)
        if is_dual(table) and (key is None or self._known(key) == NOTHING):
            return None
        if key is None:
            self._unknown(table)
            return Relation([AllColumns(None)])
        reads.add(key)
        return self._table(key)

    def path_of_stage(self, stage: str) -> str:
        """Return the path behind ``@stage/folder`` if the file creates the stage, else ""."""
        name, _, below = stage.removeprefix("@").partition("/")
        url = self._stages.get(fold(name.rpartition(".")[2]), "")
        return f"{url.rstrip('/')}/{below}" if url else ""

    def _files(self, stage: str, path: str, reads: Reads) -> KnownTable | Relation:
        """Return the columns of files that a query of Snowflake reads: of a stage, or a path."""
        path = path or self.path_of_stage(stage)
        key = self._path(path) if path else None
        if key is not None:
            reads.add(key)
            return self._table(key)
        if not path:
            self._note("not-joined", f"reads a stage whose location is unknown: {stage}")
        return Relation([AllColumns(None)])

    def _is_part(self, table: exp.Table, part: PartOfTable) -> bool:
        """Return whether a name is part of a table that is known, and not a table of its own."""
        if isinstance(table.this, exp.Anonymous):
            return True
        own, above = self._key(table), self._key(part.table)
        if own is not None and self._known(own).declared:
            return False
        return part.is_certain or (above is not None and self._known(above) != NOTHING)

    def _table(self, key: str) -> KnownTable:
        if key not in self._tables:
            self._tables[key] = self._known(key).table(key)
            self._all_tables.append(self._tables[key])
        return self._tables[key]

    # ---- columns

    def _type_of(self, origin: ColumnOrigin) -> str:
        shape = self._known(origin.dataset)
        known = self._types.get(origin.dataset)
        if known is None or known[0] is not shape:
            known = self._types[origin.dataset] = (shape, shape.types())
        return known[1].get(fold(origin.column), "")

    def _shape_of(self, table: exp.Table) -> Shape:
        temporary = self._temporary(table)
        if temporary is not None:
            names = [ShapeColumn(item.name) for item in temporary.relation.named]
            return Shape(tuple(names), temporary.relation.closed, True)
        key = self._key(table)
        return self._known(key) if key else NOTHING

    def _known(self, key: str) -> Shape:
        shape = self.asked[key] = self._shapes.get(key)
        return shape or self._own.get(key, NOTHING)

    def _made(self, key: str, label: DatasetLabel, shape: Shape, location: str) -> None:
        at = self._path(location) if location else None
        self._own[key] = shape
        self._found.created.append(Created(key, self._line, label, shape, at or ""))
