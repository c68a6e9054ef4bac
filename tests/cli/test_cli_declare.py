"""The command `declare`: what it adds to a file, and what it refuses."""

import json
from pathlib import Path

import pytest
import yaml

from tests.command_line import in_process

ENDS = ("sftp://partner.example.com|out/orders", "s3://raw/orders")


def entries(file: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = yaml.safe_load(file.read_text())["lineage"]
    return found


def test_an_edge_is_added_and_what_is_there_stays(tmp_path: Path) -> None:
    file = tmp_path / "partners.yml"
    file.write_text(
        "# of the partner\nlineage:\n  - from: s3://a/b  # first\n    to: s3://a/c\n    why: x\n    by: bob\n"
    )
    arguments = ("--why", "a job", "--by", "ann", "--until", "2999-01-31", "--column", "id=a, b")
    outcome = in_process("declare", *ENDS, *arguments, "--file", file)
    assert outcome.code == 0
    assert "+  - from: sftp://partner.example.com|out/orders" in outcome.out.splitlines()
    assert file.read_text().startswith("# of the partner\nlineage:\n  - from: s3://a/b  # first\n")
    assert entries(file)[1:] == [
        {
            "from": ENDS[0],
            "to": ENDS[1],
            "why": "a job",
            "by": "ann",
            "until": "2999-01-31",
            "columns": {"id": ["a", "b"]},
        }
    ]


def test_a_file_that_is_missing_is_created_where_the_configuration_has_it(tmp_path: Path) -> None:
    config = tmp_path / "lineage_merge.yml"
    config.write_text("dag_name: d\nenvironment: dev\ndeclared: [lineage/partners.yml]\n")
    outcome = in_process("declare", *ENDS, "--why", "a job", "--by", "ann", "--json", "-c", config)
    file = tmp_path / "lineage" / "partners.yml"
    assert json.loads(outcome.out) == {"file": str(file), "entry": entries(file)[0]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("orders", ENDS[1], "--why", "x"), "lineage[0].from: expected a URI, or namespace|name"),
        ((ENDS[0], "s3://raw/orders#id", "--why", "x"), "from and to must both be datasets"),
        ((*ENDS, "--why", "x", "--column", "id"), "--column: expected TARGET=SOURCE, found id"),
    ],
)
def test_what_would_not_be_read_is_not_written(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    file = tmp_path / "partners.yml"
    outcome = in_process("declare", *arguments, "--by", "ann", "--file", file)
    assert outcome.code == 2
    assert message in outcome.err
    assert not file.exists()


def test_without_a_file_of_declared_lineage_one_must_be_named(tmp_path: Path) -> None:
    config = tmp_path / "lineage_merge.yml"
    config.write_text("dag_name: d\nenvironment: dev\n")
    outcome = in_process("declare", *ENDS, "--why", "x", "-c", config)
    assert outcome.code == 2
    assert "no file of declared lineage is configured: name the YAML file" in outcome.err
