"""The commands `impact` and `owners`, and CSV of every question."""

import csv
import io
import json

import pytest

from tests.command_line import in_process
from tests.questions.test_ownership import both


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The made pipeline and the dbt project of the tests about owners."""
    return both().folder(tmp_path_factory.mktemp("owned"))


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_owners_as_a_table_for_a_spreadsheet(folder: str) -> None:
    outcome = in_process("owners", "copy", "--folder", folder, "--format", "csv")
    assert outcome.code == 0
    assert outcome.out == (
        "owner,hops,datasets,columns,jobs,exposures,nearest,DAGs\n"
        "'@data,1,1,2,1,0,mart,marts\n"
        "marts@example.com,1,1,2,1,0,mart,marts\n"
        "privacy@example.com,1,0,1,0,0,hashed#email_hash,daily\n"
        "ceo@example.com,2,0,0,0,1,report!,marts\n"
        "(none),2,0,0,0,1,other!,daily\n"
    )
    assert outcome.err == "affected datasets and exposures without an owner: 1\n"


def test_owners_as_json(folder: str) -> None:
    output = json.loads(in_process("owners", "raw#email", "--folder", folder, "--depth", "1", "--json").out)
    assert (output["question"], output["depth"]) == ("owners", 1)
    assert {each["owner"] for each in output["owners"]} == {"lake@example.com", "platform@example.com"}
    assert output["owners"][0]["counts"] == {"dataset": 1, "column": 1, "job": 0, "exposure": 0}
    assert output["without_owner"] == []


def test_nothing_depends_on_a_dashboard(folder: str) -> None:
    outcome = in_process("owners", "report!", "--folder", folder)
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "nothing depends on report!\n")


def test_the_impact_has_owners_addresses_expressions_and_tests(folder: str) -> None:
    output = json.loads(in_process("impact", "raw_orders#amount", "--folder", folder, "--json").out)
    affected = {each["title"]: each for each in output["affected"]}
    dashboard = affected["revenue_dashboard"]
    assert (dashboard["url"], dashboard["exposure_type"], dashboard["owners"]) == (
        "https://bi.example.com/dashboards/7",
        "dashboard",
        ["ada@example.com"],
    )
    assert [
        (each["transformation"], each["expression"])
        for each in affected["semantic_model.orders#discounted"]["uses"]
    ] == [("AGGREGATION", "sum(amount * 0.9)")]
    assert {each["name"]: each["status"] for each in output["tests"]} == {
        "positive_stg_orders_amount": "failed",
        "no_orders_of_unknown_customers": "failed",
        "amounts_per_country_orders_": "passed",
        "only_paid_orders": "error",
    }
    assert (output["change"], output["effects"]) == (None, None)
    assert {each["effect"] for each in (*output["affected"], *output["tests"])} == {None}


def test_the_impact_of_a_change_has_effects(folder: str) -> None:
    words = ("impact", "raw#email", "--change", "rename", "--folder", folder)
    output = json.loads(in_process(*words, "--json").out)
    assert output["change"] == "rename"
    assert output["effects"] == {"breaks": 3, "changes": 3, "depends": 1, "unaffected": 0}
    effects = {
        (each["table"], each["name"], each["effect"]) for each in rows(in_process(*words, "--format=csv").out)
    }
    assert effects == {
        ("datasets", "copy", "changes"),
        ("datasets", "hashed", "breaks"),
        ("exposures", "other!", "depends"),
        ("jobs", "ingest", "changes"),
        ("jobs", "hash", "breaks"),
        ("columns", "copy#email", "changes"),
        ("columns", "hashed#email_hash", "breaks"),
        ("DAGs", "daily", ""),
    }
    shown = in_process(*words).out
    assert ["hashed#email_hash", "TRANSFORMATION", "md5(email)", "breaks", "2"] in [
        line.split()[:5] for line in shown.splitlines()
    ]


def test_only_a_column_can_be_retyped(folder: str) -> None:
    outcome = in_process("impact", "copy", "--change", "retype", "--folder", folder)
    assert (outcome.code, outcome.out) == (9, "")
    assert outcome.err == "error: not a column: copy. Fix: retype DATASET#COLUMN\n"


@pytest.mark.parametrize(
    ("some", "none"),
    [
        (("impact", "raw"), ("impact", "report!")),
        (("impact", "raw#id", "--change", "drop"), ("impact", "customers_history#email", "--change", "drop")),
        (("owners", "raw"), ("owners", "report!")),
        (("jobs",), ("jobs", "--search", "nothing")),
        (("datasets",), ("datasets", "--search", "nothing")),
        (("upstream", "mart"), ("upstream", "raw")),
        (("downstream", "raw#id"), ("downstream", "mart#customers")),
        (("path", "raw", "mart"), ("path", "mart", "raw")),
        (("diff", "dev", "prod"), ("diff", "dev", "dev")),
        (
            ("layers", "--layer=a=mart", "--layer=b=raw", "--layer=c=copy"),
            ("layers", "--layer=a=raw", "--layer=b=mart"),
        ),
        (("tests",), ("tests", "report!")),
        (("why", "shop.main.orders"), ("why", "raw")),
        (("tags", "shop.main.orders"), ("tags", "raw")),
    ],
)
def test_the_csv_of_a_question_has_the_same_header_for_every_answer(
    some: tuple[str, ...], none: tuple[str, ...], folder: str
) -> None:
    full, empty = (in_process(*each, "--folder", folder, "--format", "csv") for each in (some, none))
    assert (full.code, empty.code) == (0, 0), full.err + empty.err
    header = full.out.splitlines()[0]
    assert len(full.out.splitlines()) > 1
    assert empty.out.splitlines() == [header]
    assert empty.err
