"""Declared edges downstream of a change, in all formats of a review."""

import csv
import io

import pytest

from lineage_merge.cli.review_output import _table
from lineage_merge.questions.formats.conversions import json_text
from lineage_merge.questions.formats.table import csv_text
from lineage_merge.questions.traversal.effects import Change
from lineage_merge.review.consequences import consequences
from lineage_merge.review.findings import Finding, ReviewResult, Severity
from lineage_merge.review.review_formats import review_as_json, review_markdown, review_sarif
from tests.lineage_made import MadeLineage, at

WHY = "declared by ann until 2999-01-31: a macro reads it"


@pytest.fixture
def result() -> ReviewResult:
    made = MadeLineage().flow("orders > mart", "load")
    made.flow("mart > sheet", "files/sheet", declared=WHY.removeprefix("declared "), job_type="declared")
    finding = Finding(
        "removed", "orders", "", "is removed", Severity.CHANGED, change=Change.DROP, dataset=at("orders")
    )
    return ReviewResult((consequences(finding, at("orders"), made.graph()),))


def test_a_comment_lists_what_is_affected_with_the_declaration(result: ReviewResult) -> None:
    listed = [line for line in review_markdown(result).splitlines() if line.startswith("- table")]
    assert [line.endswith(f"`{WHY}`") for line in listed] == [False, True]


def test_sarif_and_the_table_name_the_declaration(result: ReviewResult) -> None:
    (found,) = review_sarif(result)["runs"][0]["results"]
    assert f"affected: mart, sheet ({WHY})" in found["message"]["text"].splitlines()
    (row,) = csv.DictReader(io.StringIO(csv_text([_table(result, None)])))
    assert row["affected"] == f"mart, sheet ({WHY})"


def test_json_has_the_declaration_of_each_affected_dataset(result: ReviewResult) -> None:
    (found,) = review_as_json(result)["findings"]
    datasets = {
        each["title"]: each["declared"] for each in found["impact"]["affected"] if each["kind"] == "dataset"
    }
    assert datasets == {"mart": None, "sheet": WHY}
    assert WHY in json_text(found)
