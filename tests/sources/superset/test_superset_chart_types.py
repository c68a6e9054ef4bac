"""Charts of all types of Superset, each with a column of its own in each of its controls."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from lineage_merge.model.elements import Problem
from tests.record_reading import records_of
from tests.sources.superset.test_superset import edges_of, read
from tests.superset_chart_types import expect_edges, list_charts, list_columns, make_form_data

_UUID = "00000000-0000-4000-8000-{:012}"
_CHARTS = {title: _UUID.format(at + 100) for at, title in enumerate(list_charts())}


def _documents() -> dict[str, dict[str, Any]]:
    database: dict[str, Any] = {
        "database_name": "shop",
        "sqlalchemy_uri": "postgresql://host:5432/shop",
        "uuid": _UUID.format(1),
    }
    columns = [{"column_name": name, "type": "TEXT"} for name in list_columns()]
    data_set: dict[str, Any] = {
        "table_name": "wide",
        "columns": columns,
        "metrics": [],
        "uuid": _UUID.format(2),
        "database_uuid": _UUID.format(1),
    }
    documents = {"databases/shop": database, "datasets/shop/wide": data_set}
    position: dict[str, Any] = {"ROOT_ID": {"type": "ROOT", "children": list(_CHARTS.values())}}
    for number, (title, (kind, controls)) in enumerate(list_charts().items()):
        uuid = _CHARTS[title]
        documents[f"charts/{number}"] = {
            "slice_name": title,
            "viz_type": kind,
            "params": make_form_data(controls),
            "uuid": uuid,
            "dataset_uuid": _UUID.format(2),
        }
        position[uuid] = {"type": "CHART", "meta": {"chartId": number + 1, "uuid": uuid}}
    dashboard = {"dashboard_title": "Wide", "position": position, "metadata": {}, "uuid": _UUID.format(3)}
    return {**documents, "dashboards/wide": dashboard}


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    folder = tmp_path_factory.mktemp("export")
    for name, document in _documents().items():
        file = Path(folder, f"{name}.yaml")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(yaml.safe_dump(document))
    return read(export=str(folder))


@pytest.mark.parametrize("title", list_charts())
def test_each_control_with_a_column_gives_its_edge_and_no_other(title: str, records: list[Any]) -> None:
    _, controls = list_charts()[title]

    assert edges_of(records, title) == expect_edges(controls)


def test_only_the_charts_that_draw_others_are_in_the_report(records: list[Any]) -> None:
    messages = [problem.message for problem in records_of(Problem, records)]

    assert messages == ["chart deck_multi draws other charts, which are not read as its own: deck_slices"]
