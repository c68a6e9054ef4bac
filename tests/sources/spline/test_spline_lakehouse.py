"""The lakehouse jobs as Spline's agent records them, compared with what they do.

The agent sends nothing for row-level operations of Iceberg and for `withField`, and no column of Iceberg's
metadata tables is one of a dataset.
"""

import pytest

from lineage_merge.model.elements import Alias, Element, Feeds, Problem
from lineage_merge.sources.spline.agent.messages import check_plan
from lineage_merge.sources.spline.agent.plans import documents
from lineage_merge.sources.spline.database_state import EVERYTHING
from lineage_merge.sources.spline.documents import assemble
from lineage_merge.sources.spline.translator import translate
from tests.lakehouse_truth import (
    compare_influences,
    compare_values,
    edges,
    last_segment,
    messages,
    truth,
)

NOT_SENT = {"mrg_t", "upd_t", "del1_t", "del2_t", "n05"}
OF_METADATA = {"i15_files", "i15_snaps"}


@pytest.fixture(scope="module")
def elements() -> list[Element]:
    found: list[Element] = []
    for kind, body in messages("spline"):
        if kind == "plan":
            assert check_plan(body, "a line") is None
            plan, problems = assemble(body["id"], documents(body), EVERYTHING)
            found += [*problems, *translate(plan)]
    return found


def test_every_edge_that_the_agent_records_is_found_and_none_is_wrong(elements: list[Element]) -> None:
    whole = truth(fields=True)
    targets = {target for target, *_ in whole.values} | {target for target, *_ in whole.influences}
    sent = whole.of(targets - NOT_SENT - OF_METADATA)
    found = edges(elements)

    values, influences = compare_values(sent, found), compare_influences(sent, found)

    assert not (values.missing | values.wrong | influences.missing | influences.wrong)
    assert (len(values.right), len(influences.right)) == (76, 22)
    assert values.wrong_kinds == influences.wrong_kinds == {}
    assert not [each for each in elements if isinstance(each, Problem)]


def test_a_row_level_operation_feeds_its_target_from_what_its_values_are_made_of(
    elements: list[Element],
) -> None:
    feeds = {
        (last_segment(each.source.name), last_segment(each.target.name), each.properties["write_mode"])
        for each in elements
        if isinstance(each, Feeds) and last_segment(each.target.name).endswith("_d")
    }

    assert feeds == {
        ("orders.csv", "orders_d", "overwrite"),
        ("orders.csv", "sales_d", "overwrite"),
        ("orders.csv", "mrg_d", "merge"),
        ("customers.json", "mrg_d", "merge"),
        ("mrg_d", "mrg_d", "merge"),
        ("upd_d", "upd_d", "update"),
    }


def test_tables_of_a_catalog_have_one_name(elements: list[Element]) -> None:
    names = {
        (each.ref.namespace, each.ref.name, last_segment(each.of.name))
        for each in elements
        if isinstance(each, Alias)
    }

    # CREATE TABLE AS SELECT names no catalog.
    assert names == {
        ("lake", "db.app_t", "app_t"),
        ("lake", "db.src_t", "src_t"),
        ("lake", "db.chain1", "chain1"),
        ("spark_catalog", "default.sales_d", "sales_d"),
    }
