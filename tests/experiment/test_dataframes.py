"""What a change of a source column changes in the result of a DataFrame program is known to `capture`."""

from collections import Counter

import pytest
from pyspark.sql import SparkSession

from tests import drawing
from tests.experiment.__main__ import UnknownDependencyError, check
from tests.experiment.dataframes import PROGRAMS, SparkLaboratory
from tests.experiment.product import Lineage

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def laboratory(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkLaboratory:
    return SparkLaboratory(spark, tmp_path_factory.mktemp("tables"))


@pytest.mark.parametrize("program", drawing.share_of(PROGRAMS))
def test_the_lineage_of_a_program_explains_each_change(program: str, laboratory: SparkLaboratory) -> None:
    counts: Counter[str] = Counter()

    check(laboratory, program, counts, laboratory.lineage)

    assert counts["statements"] == 1, "it cannot run"
    assert counts["reported"] == 0
    assert counts["confirmed"] > 0


def test_a_missing_edge_of_a_program_is_noticed(laboratory: SparkLaboratory) -> None:
    program = 't.select("id", (F.col("a") + F.col("b")).alias("x"))'

    def without_b(program: str) -> Lineage:
        lineage = laboratory.lineage(program)
        del lineage.edges["t", "b"]
        return lineage

    with pytest.raises(UnknownDependencyError, match="'b'"):
        check(laboratory, program, Counter(), without_b)
