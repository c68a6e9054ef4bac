"""The sample pipeline, TICKIT: where its files are, and the way that `demo` shows."""

from importlib.resources import files
from pathlib import Path

from lineage_merge.model.elements import DatasetName, dataset_id
from lineage_merge.model.errors import SourceMissing

_WAREHOUSE = "redshift://tickit-wh.us-east-1:5439"


def config_file() -> Path:
    """The sample's configuration, in the installed package or in a checkout."""
    package = Path(str(files("lineage_merge")))
    for folder in (package / "sample_data", package.parent / "sample_data"):
        if (folder / "lineage_merge.yml").is_file():
            return folder / "lineage_merge.yml"
    raise SourceMissing("sample_data is not part of this installation")


def way_ends(environment: str) -> tuple[str, str]:
    """The ids of the first file and the last table: ``s3://tickit-raw/sales``, ``top_events_by_sales``."""
    return (
        dataset_id(environment, DatasetName("s3://tickit-raw", "sales")),
        dataset_id(environment, DatasetName(_WAREHOUSE, "dev.tickit_marts.top_events_by_sales")),
    )
