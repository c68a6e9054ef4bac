"""The captured dbt project `shop` (`tests/data/dbt/shop_v12`) as a configuration, elements and a graph."""

from pathlib import Path
from typing import Any

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.rows import Rows
from lineage_merge.merge import join
from lineage_merge.merge.dataset_resolver import from_config
from lineage_merge.model.records import Record
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.dbt.reader import read_dbt
from tests.runs_made import HOUR

DATA = Path(__file__).parent / "data" / "dbt" / "shop_v12"
NAMESPACE = "duckdb://shop"
TABLES = f"dev|{NAMESPACE}|shop."
PROJECT = "dev|dbt://shop|"
TESTS = "dev|daily|assertion|dbt|"
# An hour after dbt wrote the manifest.
NOW = 1795394954855 + HOUR


def settings(folder: Path = DATA, **entry: Any) -> dict[str, Any]:
    """The configuration of the project; `entry` replaces keys of its `dbt` entry (None: leaves them out)."""
    files = {
        "manifest": str(folder / "manifest.json"),
        "namespace": NAMESPACE,
        "catalog": str(folder / "catalog.json"),
        "run_results": [str(folder / f"run_results_{each}.json") for each in ("build", "run", "test")],
        "sources": str(folder / "sources.json"),
    } | entry
    project = {name: value for name, value in files.items() if value is not None}
    return {"dag_name": "daily", "environment": "dev", "dbt": [project]}


def read(folder: Path = DATA, **entry: Any) -> Rows[Record]:
    """The records of the project."""
    config = CONFIGURATION.parse(settings(folder, **entry))
    return read_dbt(LocalEngine(), config, from_config(config))


def graph(folder: Path = DATA, **entry: Any) -> join.Graph:
    """The project's graph."""
    return join.merge_locally(read(folder, **entry).collect(), "dev", "daily")
