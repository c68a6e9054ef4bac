"""The dataset that a first question is about, and the limits of verification."""

import gzip
from itertools import pairwise
from pathlib import Path

import pytest

from lineage_merge.graph_format.schema import Row
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.init.verification import _dataset_to_ask_about, verify


def dataset(name: str, namespace: str = "redshift://wh", label: str = "table") -> Row:
    return {
        "id": f"dev|{namespace}|{name}",
        "label": label,
        "name": name.rpartition(".")[2],
        "qualified_name": name,
    }


def feeds(start: Row, end: Row, job_type: str = "spark") -> Row:
    return {
        "id": f"{start['id']}>{end['id']}",
        "label": "feeds",
        "from": start["id"],
        "to": end["id"],
        "job_type": job_type,
    }


def test_a_path_through_spark_and_dbt_is_preferred_to_a_longer_one() -> None:
    raw, lake, table, mart = (
        dataset(name) for name in ("raw", "lake", "dev.public.sales", "dev.marts.revenue")
    )
    long = [dataset(f"step_{number}") for number in range(6)]
    rows = [raw, lake, table, mart, *long, feeds(raw, table), feeds(table, mart, "dbt")]
    rows += [feeds(start, end) for start, end in pairwise(long)]

    assert _dataset_to_ask_about(rows) == "revenue"


def test_a_dashboard_is_not_the_end() -> None:
    table, mart, dashboard = dataset("a"), dataset("dev.marts.b"), dataset("board", "dbt://shop", "exposure")

    rows = [table, mart, dashboard, feeds(table, mart, "dbt"), feeds(mart, dashboard, "dbt")]

    assert _dataset_to_ask_about(rows) == "b"


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (("dev.other.b", "redshift://wh"), "dev.marts.b"),
        (("dev.marts.b", "redshift://copy"), "dev|redshift://wh|dev.marts.b"),
    ],
)
def test_an_ambiguous_name_is_qualified(other: tuple[str, str], expected: str) -> None:
    source, mart = dataset("a"), dataset("dev.marts.b")

    assert _dataset_to_ask_about([source, mart, dataset(*other), feeds(source, mart)]) == expected


def test_cycles_and_single_datasets_have_an_answer_too() -> None:
    first, second = dataset("a"), dataset("b")

    assert _dataset_to_ask_about([first, second, feeds(first, second), feeds(second, first)]) == "a"
    assert _dataset_to_ask_about([first]) == "a"
    assert _dataset_to_ask_about([]) == ""


LIMIT_MB = 1


def is_read(spline: dict[str, str]) -> bool:
    settings = {"dag_name": "d", "environment": "e", "spark": {"distribute_above_mb": LIMIT_MB}}
    return verify(CONFIGURATION.parse({**settings, "spline": spline})).is_read


def test_input_above_the_limit_is_not_read(data: Path) -> None:
    assert not is_read({"export": str(data / "spline" / "tpch")})
    assert is_read({"export": str(data / "spline" / "tickit_sales_load")})


def test_compressed_input_that_unpacks_above_the_limit_is_not_read(data: Path, tmp_path: Path) -> None:
    lines = gzip.decompress((data / "agent" / "tpch.jsonl.gz").read_bytes())
    packed = tmp_path / "agent.jsonl.gz"
    packed.write_bytes(gzip.compress(lines * 4))

    assert (packed.stat().st_size < LIMIT_MB << 20, len(lines) * 4 > LIMIT_MB << 20) == (True, True)
    assert not is_read({"agent": str(packed)})
