"""Reviews read only what a change concerns, of manifests and of folders of Parquet files."""

import json
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.graph_format.elements import Edge, Vertex
from lineage_merge.graph_format.schema import edge_ddl, node_ddl
from lineage_merge.questions.backends.folder import read_folder
from lineage_merge.review.assessment import review_dbt
from lineage_merge.review.dbt_files import ManifestPlace, read_files, reduce_documents
from tests.review.dbt_pull_requests.project import PULL_REQUESTS
from tests.review.dbt_pull_requests.versions import document, file_of, scope
from tests.review.test_review_dbt import merged

pytest.importorskip("pyarrow")


def test_only_entries_that_the_change_concerns_are_read() -> None:
    base, head = document("base"), document("drop")
    reduce_documents(base, head)
    models = {each.rpartition(".")[2] for each in head["nodes"] if each.startswith("model.")}
    below = {"int_shipments", "dim_carriers", "fct_orders", "mart_carriers", "rpt_shipping"}
    below |= {"mart_refund_rate", "mart_revenue_by_country", "rpt_countries"}
    assert below <= models
    assert "mart_activity" not in models
    assert base["nodes"].keys() == head["nodes"].keys()


@pytest.mark.parametrize("name", PULL_REQUESTS)
def test_the_findings_are_those_of_whole_manifests(name: str, tmp_path: Path) -> None:
    places = []
    for each in ("base", name):
        file = tmp_path / f"{each}.json"
        file.write_text(json.dumps(document(each)))
        places.append(ManifestPlace(str(file)))
    base, head = read_files(places[0], places[1])
    expected = review_dbt(file_of(document("base")), file_of(document(name)), scope())
    assert review_dbt(base, head, scope()) == expected


@pytest.mark.parametrize(
    ("section", "value"), [("groups", {"group.shop.a": {"name": "a"}}), ("metadata", {"adapter_type": "x"})]
)
def test_a_difference_that_concerns_all_entries_keeps_them(section: str, value: dict[str, Any]) -> None:
    base, head = document("base"), document("drop")
    head[section] = {**head.get(section, {}), **value}
    number = len(head["nodes"])
    reduce_documents(base, head)
    assert len(head["nodes"]) == number


def test_a_malformed_manifest_is_reported_as_before(tmp_path: Path) -> None:
    head = document("drop")
    head["nodes"]["model.shop.fct_orders"] = {"resource_type": "model", "depends_on": 5}
    head["nodes"]["model.shop.x"] = "text"
    head["parent_map"] = {"model.shop.y": 3, "model.shop.z": [None]}
    (tmp_path / "base.json").write_text(json.dumps(document("base")))
    (tmp_path / "head.json").write_text(json.dumps(head))
    _, file = read_files(
        ManifestPlace(str(tmp_path / "base.json")), ManifestPlace(str(tmp_path / "head.json"))
    )
    assert {each.document.rpartition(" ")[2] for each in file.problems if each.kind == "rejected"} >= {
        "model.shop.fct_orders",
        "model.shop.x",
    }


def write_parquet(folder: Path, elements: list[Vertex | Edge]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    types = {"string": pa.string(), "bigint": pa.int64(), "array<string>": pa.list_(pa.string())}
    for kind, ddl in (("nodes", node_ddl()), ("edges", edge_ddl())):
        columns = [each.replace("`", "").split() for each in ddl.split(", ")]
        schema = pa.schema([(name, types[declared]) for name, declared in columns])
        rows = []
        for each in elements:
            if isinstance(each, Vertex) == (kind == "nodes"):
                ends = {"from": each.from_id, "to": each.to_id} if isinstance(each, Edge) else {}
                held = {
                    key: list(value) if isinstance(value, tuple) else value
                    for key, value in each.properties.items()
                }
                if kind == "nodes" and "dag_name" in held:
                    held["dag_name"] = held["dag_name"][0]
                rows.append({"id": each.id, "label": each.label, **ends, **held})
        (folder / kind).mkdir(parents=True)
        parquet.write_table(pa.Table.from_pylist(rows, schema), folder / kind / "part-0.parquet")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("graph")
    graph = merged()
    labels = ("assertion", "checks", "references")
    write_parquet(found, [*graph.everything(), *graph.everything(labels=labels)])
    return found


@pytest.mark.parametrize("name", PULL_REQUESTS)
def test_a_parquet_folder_gives_the_findings_of_the_graph(name: str, folder: Path) -> None:
    files = file_of(document("base")), file_of(document(name))
    assert review_dbt(*files, scope(), read_folder(str(folder))) == review_dbt(*files, scope(), merged())
