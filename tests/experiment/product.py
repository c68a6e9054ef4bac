"""The product's lineage of a statement, as an experiment compares it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import PurePath

from sqlglot import Dialect

from lineage_merge.column_lineage.scripts.project import read_project
from lineage_merge.column_lineage.scripts.syntax import Script, parse
from lineage_merge.model.elements import FIELD, Element, FeedsColumn, Influences, Problem, Reference
from lineage_merge.sources.sql.reader import reader_of
from lineage_merge.sources.sql.settings import SqlFiles
from lineage_merge.sources.sql.translator import translate
from tests.experiment.execution import Table, changes_rows
from tests.sources.sql.sql_reading import names

_RESULT = "o"


@dataclass
class Lineage:
    """The columns of the result by source column, the source columns that decide on rows, and problems."""

    edges: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    influences: set[tuple[str, str]] = field(default_factory=set)
    problems: tuple[str, ...] = ()

    def targets(self, source: tuple[str, str]) -> set[str]:
        """Return the columns that derive from a source column, folded."""
        return self.edges.get(source, set())


def lineage_of_elements(elements: Iterable[Element], targets: tuple[str, ...]) -> Lineage:
    """Return the lineage of one statement; fields count as their columns."""
    found = Lineage()
    problems = []
    for element in elements:
        if isinstance(element, FeedsColumn) and _table(element.target) in targets:
            source = (_table(element.source), _top(element.source_column))
            found.edges.setdefault(source, set()).add(_top(element.target_column))
        elif isinstance(element, Influences) and _table(element.target) in targets:
            found.influences.add((_table(element.source), _top(element.source_column)))
        elif isinstance(element, Problem):
            problems.append(element.message)
    found.problems = tuple(problems)
    return found


def sql_lineage(statement: str, tables: tuple[Table, ...], dialect: str = "duckdb") -> Lineage:
    """Return the lineage of a query, or of a statement that changes the target."""
    folder, described = _reader(";".join(table.ddl() for table in tables), dialect)
    text = statement if changes_rows(statement) else f"create table {_RESULT} as {statement}"
    script = parse("e.sql", text, Dialect.get_or_raise(dialect), {})
    lineage = read_project([script], reader_of(folder, names()), schema=[described])
    return lineage_of_elements(translate(lineage, "e", dialect, "e"), (_RESULT, "tgt"))


@cache
def _reader(ddl: str, dialect: str) -> tuple[SqlFiles, Script]:
    folder = SqlFiles("e", dialect, "spark_catalog", "e")
    return folder, parse("ddl.sql", ddl, Dialect.get_or_raise("duckdb"), {})


def _table(dataset: Reference) -> str:
    """Return the name of a table, or of its file without folder and suffix."""
    return PurePath(dataset.name).stem


def _top(column: str) -> str:
    return column.partition(FIELD)[0].casefold()
