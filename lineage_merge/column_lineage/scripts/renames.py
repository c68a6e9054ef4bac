"""ALTER TABLE ... RENAME TO: tables that a file creates under a temporary name. Pure."""

from collections.abc import Callable

from lineage_merge.column_lineage.scripts.results import Created, FileLineage
from lineage_merge.column_lineage.scripts.writes import Reads
from lineage_merge.column_lineage.sql.sql_values import SqlColumn


def follow_renames(lineage: FileLineage) -> None:
    """Give tables that the file renames their final names, such as swapped tables."""
    made = {created.key for created in lineage.created}
    names: dict[str, str] = {}
    for old, new in lineage.renamed.items():
        # What exchanges names with another table, which has the name again, is renamed once.
        if old in made or (old in names.values() and new not in names):
            names[old] = new
    if not names:
        return

    def last(key: str) -> str:
        seen = {key}
        while key in names and names[key] not in seen:
            key = names[key]
            seen.add(key)
        return key

    def rename_source(column: SqlColumn) -> SqlColumn:
        return column._replace(source=last(column.source))

    for write in lineage.writes:
        write.target = last(write.target)
        write.reads = _rename_reads(write.reads, last)
        write.rename(rename_source)
    lineage.created = [
        Created(last(item.key), item.line, item.label, item.shape, item.location) for item in lineage.created
    ]
    lineage.read = {last(key) for key in lineage.read}
    lineage.dropped -= set(names.values())


def _rename_reads(reads: Reads, last: Callable[[str], str]) -> Reads:
    renamed = Reads()
    for key, read in reads.items():
        renamed.include(Reads({last(key): read}))
    return renamed
