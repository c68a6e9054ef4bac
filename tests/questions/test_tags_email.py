"""The e-mail address that five marts use: which columns carry its tag, under three settings by hand."""

from pathlib import Path
from typing import Any

import pytest

from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.questions.traversal.tag_propagation import PropagatedTags, propagate
from tests import email_pipeline
from tests.email_pipeline import short

UP_TO_STAGING = {"raw#email", "lake#email", "stg_customers#email"}
# In the order of the marts: hashed, counted, in a CASE, in a filter, copied.
MARTS = {"hashed#email_hash", "counted#addresses", "classified#kind", "filtered", "copied#contact"}

WITHOUT_ADDRESSES = {
    "pii": {
        "stop_at": ["AGGREGATION", "CONDITIONAL", "influences"],
        "stop_at_functions": ["sha2", "MD5", "mask*"],
    }
}
BY_PLACE = {
    "*": {
        "stop_at": ["FILTER"],
        "stop_at_datasets": ["crm.main_marts.cop*"],
        "clear": [{"column": "*.hashed#Email_*", "reason": "salted before the load"}],
    }
}


def carried(folder: Path, propagation: dict[str, Any]) -> PropagatedTags:
    settings = email_pipeline.settings(folder, propagation=propagation)
    config = CONFIGURATION.parse(settings)
    graph = email_pipeline.graph(folder, propagation=propagation)
    return propagate(graph, ["pii"], config.propagation, "dev", "crm_daily")


@pytest.mark.parametrize(
    ("propagation", "carriers", "stops"),
    [
        ({}, UP_TO_STAGING | MARTS | {"mailing", "retention"}, set()),
        (
            WITHOUT_ADDRESSES,
            UP_TO_STAGING | {"copied#contact", "mailing"},
            {
                ("hashed#email_hash", "function", "md5"),
                ("counted#addresses", "transformation", "AGGREGATION"),
                ("classified#kind", "transformation", "CONDITIONAL"),
                ("filtered", "influences", "influences"),
            },
        ),
        (
            BY_PLACE,
            UP_TO_STAGING | {"counted#addresses", "classified#kind", "retention"},
            {
                ("hashed#email_hash", "cleared", "salted before the load"),
                ("filtered", "transformation", "FILTER"),
                ("copied#contact", "dataset", "crm.main_marts.cop*"),
            },
        ),
    ],
    ids=["by default", "without addresses", "by place"],
)
def test_carriers_and_stops_of_the_address(
    tmp_path: Path, propagation: dict[str, Any], carriers: set[str], stops: set[tuple[str, str, str]]
) -> None:
    found = carried(tmp_path, propagation)
    assert {short(each.id) for each in found.carriers} == carriers
    assert {(short(each.id), each.kind, each.reason) for each in found.stops} == stops
    origins = [carrier.origin for carrier in found.carriers] + [stop.origin for stop in found.stops]
    assert set(map(short, origins)) == {"raw#email"}


def test_the_path_to_an_exposure_has_every_step(tmp_path: Path) -> None:
    found = carried(tmp_path, {})
    (mailing,) = (each for each in found.carriers if short(each.id) == "mailing")
    assert not mailing.own
    steps = [
        (short(each.from_id), each.label, each.properties.get("transformation"), short(each.to_id), each.job)
        for each in mailing.path
    ]
    assert steps == [
        ("raw#email", "feeds_column", "IDENTITY", "lake#email", "crm_ingest"),
        ("lake#email", "feeds_column", "IDENTITY", "stg_customers#email", "model.crm.stg_customers"),
        ("stg_customers#email", "feeds_column", "IDENTITY", "copied#contact", "model.crm.copied"),
        ("copied", "feeds", None, "mailing", "exposure.crm.mailing"),
    ]


def test_only_the_filtered_mart_carries_it_by_rows(tmp_path: Path) -> None:
    found = carried(tmp_path, {})
    assert {short(each.id) for each in found.carriers if each.by_rows} == {"filtered"}
    assert {short(each.id) for each in found.carriers if each.own} == {"raw#email"}
