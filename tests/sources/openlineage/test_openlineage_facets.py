"""The page's table of facets, against the specification as its client has it, and against what is read."""

import re
import types
from pathlib import Path

import pytest

from lineage_merge.infra.json_schema import load_schema

facet_v2 = pytest.importorskip("openlineage.client.facet_v2")

PAGE = Path(__file__).parents[3] / "docs" / "openlineage.md"
# Modules of the client whose facets are not named after them.
NAMES = {
    "base_subset_dataset": "subset",
    "dataset_version_dataset": "version",
    "datasource_dataset": "dataSource",
    "processing_engine_run": "processing_engine",
}
# Facets of integrations, which are not in the specification.
OF_INTEGRATIONS = re.compile(r"^(?:airflow\w*|dbt_\w+|spark_\w+|unknownSourceAttribute)$")


def rows() -> dict[str, str]:
    """What the table says of each facet."""
    table = PAGE.read_text().partition("### Facets of the specification")[2].partition("\n## ")[0]
    found: dict[str, str] = {}
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 3 and cells[0].startswith("`"):
            found |= dict.fromkeys(re.findall(r"`(\w+)`", cells[0]), cells[2])
    return found


def name_of(module: str) -> str:
    first, *others = re.sub(r"(?:_input|_output)?_(?:dataset|job|run)$", "", module).split("_")
    return NAMES.get(module) or first + "".join(word.title() for word in others)


def test_the_table_has_each_facet_of_the_client() -> None:
    modules = [name for name, module in vars(facet_v2).items() if isinstance(module, types.ModuleType)]
    assert {name_of(module) for module in modules} <= rows().keys()


def test_the_table_says_of_each_facet_that_is_read_how() -> None:
    schema = load_schema("lineage_merge.sources.openlineage", "openlineage.schema.json")["$defs"]
    read = {
        facet
        for part in ("run", "job", "dataset")
        for group in ("facets", "inputFacets", "outputFacets")
        for facet in schema[part]["properties"].get(group, {}).get("properties", {})
        if not OF_INTEGRATIONS.match(facet)
    }
    said = rows()
    assert read <= said.keys()
    assert {facet for facet in read if said[facet].startswith("no")} == set()
    assert {facet for facet, how in said.items() if not how.startswith("no")} == read
