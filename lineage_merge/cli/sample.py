"""The files of the samples: the pipeline TICKIT, and a company with two weeks of history.

``python -m lineage_merge.cli.sample DIR`` copies its sources, for the tutorial.
"""

import shutil
import sys
from importlib.resources import files
from pathlib import Path

from lineage_merge.model.elements import DatasetName, dataset_id
from lineage_merge.model.errors import SourceMissing

_WAREHOUSE = "redshift://tickit-wh.us-east-1:5439"


def config_file() -> Path:
    """Return the configuration file of TICKIT, in the installed package or in a checkout."""
    package = Path(str(files("lineage_merge")))
    for folder in (package / "sample_data", package.parent / "sample_data"):
        if (folder / "lineage_merge.yml").is_file():
            return folder / "lineage_merge.yml"
    raise SourceMissing("sample_data is not part of this installation")


def company_folder() -> Path:
    """Return the folder of the company."""
    return config_file().parent / "company"


def demo_config_file() -> Path:
    """Return the configuration of questions to the graph of the demo."""
    return company_folder() / "lineage_merge.yml"


def path_ends(environment: str) -> tuple[str, str]:
    """Return the ids of the first file and the last table of TICKIT."""
    return (
        dataset_id(environment, DatasetName("s3://tickit-raw", "sales")),
        dataset_id(environment, DatasetName(_WAREHOUSE, "dev.tickit_marts.top_events_by_sales")),
    )


def copy_sources(folder: Path) -> None:
    """Copy the exports of Spline and the manifest of dbt to a new folder, without the configuration."""
    sample = config_file().parent
    for name in ("spline", "dbt"):
        shutil.copytree(sample / name, folder / name)


if __name__ == "__main__":
    copy_sources(Path(sys.argv[1]))
