"""Finds a table of SQL among the datasets, as the platform compares names."""

from collections.abc import Container, Iterable, Mapping

from sqlglot import Dialect, exp, maybe_parse
from sqlglot.dialects.dialect import NormalizationStrategy
from sqlglot.errors import SqlglotError

Parts = tuple[str, ...]


def is_dual(table: exp.Table) -> bool:
    """Whether it is the one row that Oracle, MySQL, Snowflake and others select constants from."""
    parts = [part.name.casefold() for part in table.parts]
    return parts in (["dual"], ["sys", "dual"], ["sysibm", "sysdummy1"])


class TableNames:
    """The datasets by their names in SQL, whole or without database and schema.

    Those with one name in SQL are one dataset, which `same` has for each of them: the one of them
    that is built, or of several that are only read the first. Several that are built stay apart.
    """

    def __init__(self, dialect: Dialect, relations: Mapping[str, str], built: Container[str] = ()) -> None:
        """`relations`: the text that SQL has for each dataset, by unique id; `built`: those with a job."""
        self._strategy = dialect.normalization_strategy
        self._exact = type(dialect).__name__.lower() == "bigquery"
        self._dialect = dialect
        self._whole = {unique_id: self._parsed(text) for unique_id, text in relations.items()}
        self.same = _representatives(self._whole, built)
        self._by_parts: dict[Parts, list[str]] = {}
        for unique_id, parts in self._whole.items():
            if self.same[unique_id] == unique_id:
                for start in range(len(parts)):
                    self._by_parts.setdefault(parts[start:], []).append(unique_id)

    def find(self, table: exp.Table, preferred: Iterable[str]) -> str | None:
        """The one dataset that `table` can mean, those of `preferred` before others."""
        found = self.candidates(table)
        wanted = {self.same.get(uid, uid) for uid in preferred} if len(found) > 1 else set()
        for candidates in (found, [uid for uid in found if uid in wanted]):
            if len(candidates) == 1:
                return candidates[0]
        return None

    def candidates(self, table: exp.Table) -> list[str]:
        """All datasets that `table` can mean."""
        parts = self.parts(table)
        found = self._by_parts.get(parts, [])
        if not found and len(parts) > 2:
            # Spark, Hive and MySQL have no database, but SQL may write their catalog's name.
            found = [uid for uid in self._by_parts.get(parts[-2:], []) if len(self._whole[uid]) == 2]
        return found

    def whole(self, unique_id: str) -> Parts:
        """The parts of a dataset's whole name; none where it cannot be read."""
        return self._whole.get(unique_id, ())

    def parts(self, table: exp.Table) -> Parts:
        """The parts of a name as the platform compares them; a function's call is one part."""
        if not table.this:
            return ()
        if not isinstance(table.this, exp.Identifier | exp.Dot):
            return (table.this.sql(dialect=self._dialect, comments=False).casefold(),)
        return tuple(
            self._folded(part) if isinstance(part, exp.Identifier) else part.name for part in table.parts
        )

    def _parsed(self, text: str) -> Parts:
        try:
            return self.parts(maybe_parse(text, into=exp.Table, dialect=self._dialect))
        except (SqlglotError, RecursionError):
            return ()

    def _folded(self, part: exp.Identifier) -> str:
        name = part.name
        if self._exact or self._strategy is NormalizationStrategy.CASE_SENSITIVE:
            return name
        if self._strategy in (NormalizationStrategy.LOWERCASE, NormalizationStrategy.UPPERCASE):
            if part.args.get("quoted"):
                return name
            return name.lower() if self._strategy is NormalizationStrategy.LOWERCASE else name.upper()
        return name.casefold()


def _representatives(whole: Mapping[str, Parts], built: Container[str]) -> dict[str, str]:
    by_name: dict[Parts, list[str]] = {}
    for unique_id in sorted(whole):
        by_name.setdefault(whole[unique_id], []).append(unique_id)
    same = {unique_id: unique_id for unique_id in whole}
    for parts, unique_ids in by_name.items():
        of_jobs = [each for each in unique_ids if each in built]
        if parts and len(of_jobs) < 2:
            same.update(dict.fromkeys(unique_ids, (of_jobs or unique_ids)[0]))
    return same
