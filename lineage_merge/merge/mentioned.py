"""What a catalog says counts only for datasets that somebody else speaks of.

A catalog lists everything that a company has: ten thousand tables that this DAG never touches
are no part of its graph.
"""

from collections.abc import Iterable, Iterator

from pyspark.sql import DataFrame

from lineage_merge.records import RECORD_DDL, Record, with_columns, with_kind

# `about` is the thing that a row speaks of (a table, under whichever name); null: of the whole.
# A row of kind "name" says only that `target` is one of the thing's other names.
DESCRIBED_DDL = f"about string, {RECORD_DDL}"


def described(about: str | None, rows: Iterable[Record]) -> Iterator[Record]:
    """All the records about one thing as rows of `DESCRIBED_DDL`.

    What records tell of another name is no news: whoever uses the name has told it too.
    """
    told = list(rows)
    others = {source for kind, source, *_ in told if kind == "alias"}
    for record in told:
        kind, _, target, *_ = record
        is_name = kind == "dataset" and target in others
        yield with_columns(with_kind(record, "name") if is_name else record, about)


def of_mentioned(catalog: DataFrame, records: DataFrame) -> DataFrame:
    """The rows of a catalog (`DESCRIBED_DDL`) about what `records` mention, as rows of `RECORD_DDL`.

    Both are read twice: persist them. A thing is mentioned when one of its names is; then all
    that is said of it counts, since the mentioned name may stand for another one.
    """
    # Whoever names a dataset in whatever way leaves a record of kind "dataset".
    mentioned = records.where("kind = 'dataset'").select("target").distinct()
    names = catalog.where("kind in ('dataset', 'name') and about is not null").select("about", "target")
    wanted = names.join(mentioned, "target", "left_semi").select("about").distinct()
    kept = catalog.where("kind <> 'name'").join(wanted, "about", "left_semi").select(catalog.columns)
    return kept.unionByName(catalog.where("about is null")).drop("about")
