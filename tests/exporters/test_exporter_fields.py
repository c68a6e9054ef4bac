"""Fields of structures in the formats of other tools."""

from typing import Any

import pytest

from lineage_merge.exporters.exporter import Export
from lineage_merge.graph_format.elements import Vertex
from lineage_merge.questions.backends.in_memory import InMemory
from tests.lineage_made import MadeLineage, at, col


@pytest.fixture
def graph() -> InMemory:
    lineage = MadeLineage().flow("crm > mart")
    lineage.columns("crm.customer/address/city > mart.city", transformation="IDENTITY")
    lineage.columns("crm.customer > mart.whole", transformation="IDENTITY")
    lineage.columns("crm.items/sku > mart.skus/sku", transformation="IDENTITY")
    types = {
        "customer": "struct<address:struct<city:string>,age:int>",
        "items": "array<struct<sku:bigint>>",
    }
    for name, data_type in types.items():
        lineage.nodes[col("crm", name)]["data_type"] = data_type
    lineage.nodes[col("crm", "customer") + "|address|city"] |= {"data_type": "string", "tags": ["pii"]}
    lineage.nodes[col("crm", "items") + "|sku"]["data_type"] = "bigint"
    return lineage.graph()


CITY = "[version=2.0].[type=struct].[type=struct].customer.[type=struct].address.[type=string].city"
SKU = "[version=2.0].[type=struct].[type=array].[type=struct].items.[type=long].sku"


def test_datahub_has_paths_with_types(graph: InMemory) -> None:
    pytest.importorskip("datahub")
    from datahub.metadata import schema_classes as classes

    from lineage_merge.exporters.datahub.proposals import proposals

    sent = [*proposals(Export(graph, {}, "dev"))]
    aspects = [each.aspect for each in sent if getattr(each, "aspect", None)]
    schemas = [each for each in aspects if isinstance(each, classes.SchemaMetadataClass)]
    assert {field.fieldPath for schema in schemas for field in schema.fields} == {
        "[version=2.0].[type=struct].[type=struct].customer",
        "[version=2.0].[type=struct].[type=struct].customer.[type=struct].address",
        CITY,
        "[version=2.0].[type=struct].[type=array].[type=struct].items",
        SKU,
        "city",
        "whole",
        "[version=2.0].[type=struct].[type=struct].skus",
        "[version=2.0].[type=struct].[type=struct].skus.[type=null].sku",
    }
    (upstream,) = {
        tuple(
            (
                tuple(source.rpartition(",")[2] for source in each.upstreams or ()),
                (each.downstreams or [""])[0].rpartition(",")[2],
            )
            for each in lineage.fineGrainedLineages or ()
        )
        for lineage in aspects
        if isinstance(lineage, classes.UpstreamLineageClass)
    }
    assert set(upstream) == {
        ((f"{SKU})",), "[version=2.0].[type=struct].[type=struct].skus.[type=null].sku)"),
        ((f"{CITY})",), "city)"),
        (("[version=2.0].[type=struct].[type=struct].customer)",), "whole)"),
    }


def test_the_paths_are_those_of_datahubs_own_sources() -> None:
    pytest.importorskip("datahub")
    from datahub.utilities.hive_schema_to_avro import get_schema_fields_for_hive_column

    from lineage_merge.exporters.datahub.fields import FieldPaths

    types = {
        "a": "map<string,struct<n:bigint,s:string,i:int,f:float,b:boolean>>",
        "a|n": "bigint",
        "a|s": "string",
        "a|i": "int",
        "a|f": "float",
        "a|b": "boolean",
    }
    columns = [
        Vertex(f"{at('t')}|{path}", "column", {"name": path.rpartition("|")[2], "data_type": data_type})
        for path, data_type in types.items()
    ]
    known = {each.fieldPath for each in get_schema_fields_for_hive_column("a", types["a"])}
    assert {FieldPaths(columns).build_path(column) for column in columns} <= known


def test_openlineage_has_nested_fields_and_dotted_names(graph: InMemory) -> None:
    pytest.importorskip("openlineage.client")
    from lineage_merge.exporters.graph_batches import jobs, read_schemas
    from lineage_merge.exporters.openlineage.facets import column_lineage, ends, make_dataset_facets

    facets: dict[str, Any] = make_dataset_facets(read_schemas(graph, [at("crm")])[at("crm")])
    customer, items = facets["schema"].fields
    assert (customer.name, [each.name for each in customer.fields]) == ("customer", ["address"])
    assert [(each.name, each.type) for each in customer.fields[0].fields] == [("city", "string")]
    assert [each.name for each in items.fields] == ["sku"]
    assert [(tag.key, tag.field) for tag in facets["tags"].tags] == [("pii", "customer.address.city")]
    (job,) = jobs(graph)
    columns = {vertex.id: vertex for vertex in graph.vertices(ends(job.flows))}
    facet: Any = column_lineage(job.flows[0], columns)
    assert {name: [each.field for each in column.inputFields] for name, column in facet.fields.items()} == {
        "city": ["customer.address.city"],
        "whole": ["customer"],
        "skus.sku": ["items.sku"],
    }
