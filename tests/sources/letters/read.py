"""The file, read by Spark's workers."""

from collections.abc import Iterator

from pyspark.sql import DataFrame, SparkSession

from lineage_merge.config import Config
from lineage_merge.merge.names import Names
from lineage_merge.model import Element
from lineage_merge.records import RECORD_DDL, records
from lineage_merge.sources import lines
from lineage_merge.storage import Slice
from tests.sources.letters.settings import Letters
from tests.sources.letters.translate import translate


def read_letters(spark: SparkSession, config: Config, names: Names) -> DataFrame:
    """Everything that the file tells, as records."""
    letters = config.of(Letters)
    assert letters

    def elements(part: Slice) -> Iterator[Element]:
        for place, line in lines.numbered(part):
            yield from translate(line.decode(), place)

    parts = lines.parallel(spark, lines.find([letters.file]))
    rows = parts.flatMap(lambda part: records(elements(part), names))
    return spark.createDataFrame(rows, RECORD_DDL, verifySchema=False)


def look(letters: Letters) -> None:
    """One listing."""
    lines.find([letters.file])
