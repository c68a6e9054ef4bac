"""Translation of a Glue table into elements: the dataset it is, its columns and properties. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from lineage_merge import naming
from lineage_merge.model.elements import (
    Alias,
    Authority,
    Column,
    Dataset,
    DatasetLabel,
    Element,
    Problem,
    Reference,
    Scalar,
    column_properties,
)
from lineage_merge.model.errors import NamingError
from lineage_merge.naming import redact
from lineage_merge.sources.glue import table as glue_table
from lineage_merge.sources.glue.client import NO_TAGS, LfTags
from lineage_merge.sources.glue.settings import GlueCatalog

# Name of the rule on vertices and in reports: a table of the Glue catalog and its path are one dataset.
GLUE_RULE = "glue-catalog"
# Athena's name for the account's own Glue catalog.
_OF_ATHENA = "awsdatacatalog"


def translate(
    table: Mapping[str, Any], database: str, catalog: GlueCatalog, tags: LfTags = NO_TAGS
) -> Iterator[Element]:
    """Translate a table of one database, named by the path of its files. `tags`: of Lake Formation.

    Views and tables without a usable path keep their Glue name; the reason is reported as a problem. All
    other names of the table are aliases.
    """
    name = str(table.get("Name") or "")
    own, *others = references(database, name, catalog, str(table.get("CatalogId") or ""))
    path, problem = _path(table, name)
    if problem:
        yield Problem("not-joined", "|".join(own[:2]), "", problem)
    dataset = path or own
    yield _dataset(table, database, name, dataset, tags.table)
    for position, column in enumerate(glue_table.columns(table)):
        properties = column_properties(column.data_type, column.description, position)
        of_column = tags.columns.get(column.name, ())
        sets = {"tags": of_column} if of_column else {}
        yield Column(dataset, column.name, Authority.CATALOG, properties, sets)
    for other in (own, *others):
        if other != dataset:
            yield Alias(other, dataset, GLUE_RULE)


def references(database: str, table: str, catalog: GlueCatalog, owner: str = "") -> list[Reference]:
    """Return the names of a table: Glue's own first, then Athena's and those of Spark's catalogs.

    `owner` is the account that Glue reports, used if the configuration names none.
    """
    account = catalog.account or owner
    partition = _partition(catalog.region)
    domain = "amazonaws.com.cn" if partition == "aws-cn" else "amazonaws.com"
    dotted = f"{database}.{table}"
    return [
        Reference(f"arn:{partition}:glue:{catalog.region}:{account}", f"table/{database}/{table}"),
        Reference(f"awsathena://athena.{catalog.region}.{domain}", f"{_OF_ATHENA}.{dotted}"),
        *(Reference(spark, dotted) for spark in catalog.spark_catalogs),
    ]


def _partition(region: str) -> str:
    if region.startswith("cn-"):
        return "aws-cn"
    return "aws-us-gov" if region.startswith("us-gov-") else "aws"


def _path(table: Mapping[str, Any], name: str) -> tuple[Reference | None, str]:
    """Return the path of a table's files, or why no path identifies the table."""
    if glue_table.is_view(table):
        return None, ""
    if glue_table.is_link(table):
        return None, "the table is a link to another catalog, which has its path"
    location = glue_table.location(table)
    if not location:
        return None, "the table has no location, so there is no path to join it by"
    shown = redact(location)
    try:
        name_uri = naming.name_uri(location)
    except NamingError:
        return None, f"the table's location {shown} is not a path, so the table cannot be joined by it"
    if name_uri.label != "file":
        return None, f"the table's location {shown} is not a path, so the table cannot be joined by it"
    # Without its generated part, the path could belong to many tables: s3://results/tables/{uuid}.
    if name_uri.generated and name_uri.short_name.lower() != name.lower():
        return None, f"the table's location is a generated folder of {'|'.join(name_uri.name)}"
    return Reference("", location), ""


def _dataset(
    table: Mapping[str, Any], database: str, name: str, ref: Reference, tags: tuple[str, ...]
) -> Dataset[Reference]:
    label: DatasetLabel = "view" if glue_table.is_view(table) else "table"
    comment = str((table.get("Parameters") or {}).get("comment") or "")
    optional: dict[str, Scalar] = {
        "description": str(table.get("Description") or "").strip() or comment.strip(),
        "format": glue_table.data_format(table) if label == "table" else "",
        "meta": glue_table.custom_metadata(table),
    }
    known = {key: value for key, value in optional.items() if value}
    sets = {"owners": glue_table.owners(table), "tags": tags}
    return Dataset(
        ref,
        Authority.CATALOG,
        label,
        {"name": name, "qualified_name": f"{database}.{name}", **known},
        {key: values for key, values in sets.items() if values},
    )
