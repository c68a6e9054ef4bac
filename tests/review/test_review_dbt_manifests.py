"""Reviews of manifests without compiled SQL, of models renamed without their relation, and of two targets."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.review import clauses
from lineage_merge.review.assessment import review_dbt
from lineage_merge.review.consequences import PolicySettings
from lineage_merge.review.dbt_files import ManifestPlace, read_files
from lineage_merge.review.dbt_queries import DbtQueries
from lineage_merge.review.findings import ReviewResult
from tests.review.dbt_pull_requests.versions import SETTINGS, document, file_of, scope

_Json = dict[str, Any]
Review = Callable[[_Json, _Json], ReviewResult]


def whole(base: _Json, head: _Json) -> ReviewResult:
    return review_dbt(file_of(base), file_of(head), scope())


@pytest.fixture(params=["whole manifests", "files"])
def review(request: pytest.FixtureRequest, tmp_path: Path) -> Review:
    """Return a review of whole manifests, and of files of which only what is needed is read."""

    def of_files(base: _Json, head: _Json) -> ReviewResult:
        places = []
        for name, content in (("base", base), ("head", head)):
            file = tmp_path / f"{name}.json"
            file.write_text(json.dumps(content))
            places.append(ManifestPlace(str(file)))
        return review_dbt(*read_files(*places), scope())

    return whole if request.param == "whole manifests" else of_files


def found(result: ReviewResult) -> set[tuple[str, str, str]]:
    findings = [each.finding for each in result.findings]
    return {(each.severity.value, each.kind, each.title.removeprefix("shop.main.")) for each in findings}


# ---- dbt parse


def parsed(content: _Json) -> _Json:
    """Return a manifest as ``dbt parse`` writes it."""
    for node in content["nodes"].values():
        if node["resource_type"] == "model":
            node["raw_code"] = f"-- {node['name']}\nselect 1"
            node["checksum"] = {"name": "sha256", "checksum": node["name"]}
        for key in ("compiled_code", "compiled", "compiled_path"):
            node.pop(key, None)
    return content


def about(result: ReviewResult, name: str) -> list[str]:
    return [each for each in result.incomparable if each.startswith(f"model.shop.{name} ")]


def test_manifests_without_compiled_sql_are_noted_even_if_they_are_equal(review: Review) -> None:
    result = review(parsed(document("base")), parsed(document("base")))
    assert found(result) == set()
    [note] = result.incomparable
    assert note.startswith("the manifests of base and head have no compiled SQL")
    assert note in result.notes


def test_one_manifest_without_compiled_sql_is_named(review: Review) -> None:
    result = review(document("base"), parsed(document("base")))
    assert found(result) == set()
    assert result.incomparable[0].startswith("the manifest of the head has no compiled SQL")
    assert len(result.incomparable) == 7  # 5 models by name, the others as a number
    assert result.incomparable[6].startswith("35 more changed models have no compiled SQL")
    assert " may differ, but" in result.incomparable[1]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("raw_code", "select 2"),
        ("checksum", {"name": "sha256", "checksum": "other"}),
    ],
)
def test_a_model_whose_code_differs_before_compilation_is_noted(
    review: Review, field: str, value: object
) -> None:
    base, head = parsed(document("base")), parsed(document("base"))
    for each in (base, head):
        if field == "checksum":
            del each["nodes"]["model.shop.fct_orders"]["raw_code"]
    head["nodes"]["model.shop.fct_orders"][field] = value
    head["nodes"]["model.shop.dim_products"]["description"] = "another description"

    result = review(base, head)

    assert found(result) == set()
    [note] = about(result, "fct_orders")
    assert note.startswith("model.shop.fct_orders differs, but has no compiled SQL")
    assert about(result, "dim_products") == []


def test_a_changed_ephemeral_model_is_noted_if_its_readers_are_not_compiled(review: Review) -> None:
    base, head = parsed(document("base")), parsed(document("base"))
    name = next(
        node["name"]
        for node in head["nodes"].values()
        if (node.get("config") or {}).get("materialized") == "ephemeral"
    )
    head["nodes"][f"model.shop.{name}"]["raw_code"] = "select 2"
    assert len(about(review(base, head), name)) == 1


def test_compiled_manifests_have_nothing_incomparable(review: Review) -> None:
    assert review(document("base"), document("drop")).incomparable == ()


# ---- renamed models


def renamed(content: _Json, old: str, new: str) -> _Json:
    """Rename a model, which keeps its relation by ``alias:``."""
    changed: _Json = json.loads(json.dumps(content).replace(f'"model.shop.{old}"', f'"model.shop.{new}"'))
    changed["nodes"][f"model.shop.{new}"]["name"] = new
    return changed


def test_a_renamed_model_with_the_same_relation_breaks_nothing(review: Review) -> None:
    base = document("base")
    result = review(base, renamed(base, "int_shipments", "int_deliveries"))
    assert found(result) == {("info", "model renamed", "int_shipments")}
    assert [each.broken for each in result.findings] == [[]]


def test_a_replaced_model_with_the_same_relation_is_compared(review: Review) -> None:
    base = document("base")
    head = renamed(document("drop"), "int_shipments", "int_deliveries")
    assert found(review(base, head)) == {
        ("info", "model renamed", "int_shipments"),
        ("breaking", "column dropped", "int_shipments#carrier"),
    }


def test_a_reader_with_another_description_is_not_adapted(review: Review) -> None:
    head = document("drop")
    for name in ("dim_carriers", "fct_orders", "mart_carriers", "rpt_shipping"):
        head["nodes"][f"model.shop.{name}"]["description"] = "another description"
    result = review(document("base"), head)
    assert found(result) == {("breaking", "column dropped", "int_shipments#carrier")}


def test_policies_are_checked_with_the_relation_of_a_renamed_model() -> None:
    policy = {"name": "no-pii", "tag": "pii", "must_not_reach": ["*.rpt_*"]}
    settings = PolicySettings(CONFIGURATION.parse({**SETTINGS, "policies": [policy]}).policies)
    base = document("base")
    for old, new in (("mart_top_customers", "mart_best_customers"), ("rpt_customers", "rpt_people")):
        head = renamed(document("pii_path"), old, new)
        head["nodes"][f"model.shop.{new}"]["compiled_code"] += " where 1 = 1"
        result = review_dbt(file_of(base), file_of(head), scope(), None, settings)
        kinds = {each.finding.kind for each in result.findings}
        assert "policy violated" in kinds, old
        assert not kinds & {"model removed", "model added"}, old


def project(prefix: str, number: int) -> _Json:
    """Return a project of models with different SQL."""
    content = document("base")
    template = content["nodes"]["model.shop.stg_products"]
    content["nodes"], content["exposures"] = {}, {}
    for at in range(number):
        name = f"{prefix}m{at}"
        content["nodes"][f"model.shop.{name}"] = template | {
            "unique_id": f"model.shop.{name}",
            "name": name,
            "alias": name,
            "relation_name": f'"shop"."main"."{name}"',
            "compiled_code": f'select product_id, cost + {at} as cost from "shop"."raw"."products"',
        }
    return content


def test_each_query_is_parsed_a_fixed_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    original = DbtQueries.find

    def counted(self: DbtQueries, at: int, node: Any) -> clauses.ComparableQuery:
        asked.append(node.unique_id)
        return original(self, at, node)

    monkeypatch.setattr(DbtQueries, "find", counted)
    result = whole(project("", 12), project("new_", 12))
    renames = {(each.finding.before, each.finding.after) for each in result.findings}
    assert renames == {(f"shop.main.m{at}", f"shop.main.new_m{at}") for at in range(12)}
    assert max(asked.count(each) for each in asked) <= 2


# ---- targets


def of_target(content: _Json, schema: str = "pr_12", *, sales: str = "") -> _Json:
    """Return a manifest that is compiled for another schema; ``main_sales`` becomes `sales`."""
    schemas = {"main": schema, "main_sales": sales or f"{schema}_sales"}
    for node in content["nodes"].values():
        node["schema"] = schemas.get(node["schema"], node["schema"])
        for key in ("relation_name", "compiled_code"):
            for was, now in schemas.items():
                node[key] = (node.get(key) or "").replace(f'"shop"."{was}".', f'"shop"."{now}".')
    return content


def targets(result: ReviewResult) -> list[str]:
    return [each for each in result.notes if "different targets" in each]


def test_another_target_moves_nothing(review: Review) -> None:
    result = review(document("base"), of_target(document("base")))
    assert found(result) == set()
    [note] = targets(result)
    assert "shop.main (base) is shop.pr_12 (head)" in note
    assert result.incomparable == ()


@pytest.mark.parametrize("name", ["drop", "rename", "filter", "join_type", "macro", "ephemeral", "pii_path"])
def test_the_findings_for_another_target_are_those_for_the_same(review: Review, name: str) -> None:
    same = review(document("base"), document(name))
    other = review(document("base"), of_target(document(name)))
    assert other.findings == same.findings


def test_names_need_not_be_quoted(review: Review) -> None:
    base, head = document("base"), of_target(document("drop"))
    for each in (base, head):
        for node in (*each["nodes"].values(), *each["sources"].values()):
            for key in ("relation_name", "compiled_code"):
                node[key] = (node.get(key) or "").replace('"', "")
    assert found(review(base, head)) == {("breaking", "column dropped", "int_shipments#carrier")}


def test_a_model_that_moves_within_another_target_is_moved(review: Review) -> None:
    result = review(document("base"), of_target(document("moved_model")))
    assert ("changed", "model moved", "fct_orders") in found(result)
    assert {title for _, _, title in found(result)} == {"fct_orders"}


@pytest.mark.parametrize("sales", ["pr_12_sales", "pr_12"])
def test_several_schemas_become_other_or_one_schema(review: Review, sales: str) -> None:
    base, head = document("moved_model"), of_target(document("moved_model"), sales=sales)
    assert found(review(base, head)) == set()


def test_a_new_model_of_another_target_is_added_only(review: Review) -> None:
    base, head = document("base"), of_target(document("base"))
    key = "model.shop.int_shipments"
    copy = json.loads(json.dumps(head["nodes"][key]).replace("int_shipments", "int_new"))
    copy["compiled_code"] = 'select shipped_on from "shop"."pr_12"."stg_shipments"'
    head["nodes"]["model.shop.int_new"] = copy
    assert found(review(base, head)) == {("info", "model added", "int_new")}


def test_a_schema_of_some_models_is_no_target(review: Review) -> None:
    base, head = document("base"), document("base")
    moved = of_target(document("base"))
    for key in [each for each in head["nodes"] if each.startswith("model.shop.rpt_")]:
        for field in ("schema", "relation_name"):
            head["nodes"][key][field] = moved["nodes"][key][field]
    result = review(base, head)
    assert {kind for _, kind, _ in found(result)} == {"model moved"}
    assert targets(result) == []
