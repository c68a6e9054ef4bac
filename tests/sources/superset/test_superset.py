"""Dashboards of Superset, from the recorded export of `tests/superset_recipe.py` and from its API."""

import io
import json
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.storage import StoredFile
from lineage_merge.merge import dataset_resolver
from lineage_merge.model.elements import FIELD, Column, Dataset, FeedsColumn, Influences, Problem
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.superset.source import SUPERSET
from lineage_merge.sources.superset.template_values import Unrenderable
from lineage_merge.sources.superset.templates import render
from tests.record_reading import comparable, records_of, rows_of
from tests.superset_recipe import FOLDER, REDSHIFT

HOST = "https://bi.example.com"
# Of each chart what feeds its fields, and after a dash what decides on its rows.
CHARTS = """
# by country
country <- country IDENTITY
SUM(amount) <- amount AGGREGATION
revenue <- amount AGGREGATION
revenue <- customer AGGREGATION
spread <- amount AGGREGATION
spread <- gross AGGREGATION
- amount FILTER,SORT
- status FILTER
# rows
id <- id IDENTITY
gross <- gross IDENTITY
- country FILTER
- day SORT
# over time
day <- day IDENTITY
revenue <- amount AGGREGATION
revenue <- customer AGGREGATION
status <- status IDENTITY
- country FILTER
- day FILTER
# share
country <- country IDENTITY
SUM(amount) <- amount AGGREGATION
- country FILTER
# total
revenue <- amount AGGREGATION
revenue <- customer AGGREGATION
- country FILTER
# pivot
country <- country IDENTITY
status <- status IDENTITY
SUM(amount) <- amount AGGREGATION
- country FILTER
# bubbles
country <- country IDENTITY
status <- status IDENTITY
SUM(amount) <- amount AGGREGATION
spread <- amount AGGREGATION
spread <- gross AGGREGATION
revenue <- amount AGGREGATION
revenue <- customer AGGREGATION
- country FILTER
# spread of amounts
amount <- amount IDENTITY
country <- country IDENTITY
- country FILTER
# boxes
day <- day IDENTITY
country <- country IDENTITY
SUM(amount) <- amount AGGREGATION
- country FILTER
# two queries
day <- day IDENTITY
SUM(amount) <- amount AGGREGATION
country <- country IDENTITY
revenue <- amount AGGREGATION
revenue <- customer AGGREGATION
status <- status IDENTITY
- country FILTER
- status FILTER
# heat
country <- country IDENTITY
status <- status IDENTITY
SUM(amount) <- amount AGGREGATION
- country FILTER
# flow
country <- country IDENTITY
status <- status IDENTITY
SUM(amount) <- amount AGGREGATION
- country FILTER
# by segment
segment <- segment IDENTITY
avg <- twice AGGREGATION
- country FILTER
"""


def read(**settings: Any) -> list[Any]:
    parsed = {"dag_name": "daily", "environment": "dev", "superset": [settings]}
    config = CONFIGURATION.parse(parsed)
    return rows_of(SUPERSET.read(LocalEngine(), config, dataset_resolver.from_config(config)))


@pytest.fixture(scope="module")
def recorded() -> list[Any]:
    return read(export=str(FOLDER), url=HOST)


def edges_of(records: list[Any], title: str) -> set[str]:
    """Return the edges of a chart in the notation of `CHARTS`."""
    columns = records_of(Column, records)
    [chart] = {column.name for column in columns if column.properties.get("title") == title}
    found: set[str] = set()
    for edge in records_of(FeedsColumn, records):
        visual, separator, named = edge.target_column.partition(FIELD)
        if visual == chart:
            kinds = ",".join(edge.transformations)
            start = f"{named} <- " if separator else "- "
            found.add(f"{start}{edge.source_column} {kinds}")
    return found


@pytest.mark.parametrize("case", CHARTS.split("# ")[1:], ids=lambda case: case.partition("\n")[0])
def test_the_fields_of_a_chart_and_what_decides_on_its_rows(case: str, recorded: list[Any]) -> None:
    title, *lines = case.strip().split("\n")

    assert edges_of(recorded, title) == set(lines)


def test_everything_in_an_export_is_understood(recorded: list[Any]) -> None:
    assert records_of(Problem, recorded) == []


def test_a_data_set_is_a_view_of_tables_of_the_warehouse(recorded: list[Any]) -> None:
    names = {dataset.ref: dataset.properties.get("name") for dataset in records_of(Dataset, recorded)}
    edges = {
        f"{edge.source.rpartition('|')[2]}.{edge.source_column} -> {names[edge.target]}.{edge.target_column} "
        f"{edge.expression}".strip()
        for edge in records_of(FeedsColumn, recorded)
        if "|redshift" in edge.source
    }
    deciding = {
        f"{edge.source.rpartition('|')[2]}.{edge.source_column} {','.join(edge.transformations)}"
        for edge in records_of(Influences, recorded)
    }

    copied = {
        f"dev.public.orders.{name} -> orders.{name}"
        for name in ("id", "customer", "amount", "day", "country", "status")
    }
    assert edges == copied | {
        "dev.public.orders.amount -> orders.gross amount * 1.19",
        "dev.public.customers.segment -> paid_by_segment.segment",
        "dev.public.orders.day -> paid_by_segment.day",
        "dev.public.orders.country -> paid_by_segment.country",
        "dev.public.orders.amount -> paid_by_segment.twice amount * 2",
    }
    assert deciding == {
        "dev.public.orders.customer JOIN",
        "dev.public.customers.customer JOIN",
        "dev.public.orders.status FILTER",
        "dev.public.orders.country FILTER",
    }


def test_a_dashboard_has_its_address_and_no_secret_is_kept(recorded: list[Any]) -> None:
    [dashboard] = [each for each in records_of(Dataset, recorded) if each.label == "exposure"]

    assert dashboard.properties["url"] == f"{HOST}/superset/dashboard/shop/"
    assert dashboard.properties["exposure_type"] == "dashboard"
    assert "XXXXXXXXXX" not in repr(recorded)


def pack() -> bytes:
    """Return the recorded export as Superset packs it."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as bundle:
        for file in sorted(FOLDER.rglob("*.yaml")):
            bundle.write(file, f"dashboard_export_20261129T050000/{file.relative_to(FOLDER)}")
    return packed.getvalue()


def test_a_zip_and_a_folder_are_the_same(tmp_path: Path, recorded: list[Any]) -> None:
    (tmp_path / "export.zip").write_bytes(pack())

    assert comparable(read(export=str(tmp_path), url=HOST)) == comparable(recorded)


class _Server(BaseHTTPRequestHandler):
    """Superset's API with the recorded export."""

    def do_POST(self) -> None:
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if given["password"] == "hunter2":
            self._answer(json.dumps({"access_token": "token"}).encode())
        else:
            self._answer(b"{}", 401)

    def do_GET(self) -> None:
        if self.headers["Authorization"] != "Bearer token":
            self._answer(b"{}", 401)
        elif self.path.startswith("/api/v1/dashboard/export/"):
            self._answer(pack())
        else:
            [file] = (FOLDER / "dashboards").iterdir()
            uuid = next(
                line.partition(": ")[2] for line in file.read_text().splitlines() if line.startswith("uuid")
            )
            listed = {"id": 1, "uuid": uuid, "dashboard_title": "Shop", "published": True}
            listed |= {"url": "/superset/dashboard/shop/", "changed_on_utc": "2026-11-29T05:00:00+00:00"}
            listed["owners"] = [{"first_name": "Ann", "last_name": "Lee"}]
            self._answer(json.dumps({"count": 1, "result": [listed]}).encode())

    def _answer(self, body: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Server) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{served.server_port}"
        served.shutdown()


def test_the_api_gives_the_same_edges_and_the_owners(
    server: str, recorded: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUPERSET_PASSWORD", "hunter2")
    found = read(url=server, username="ann", password_env="SUPERSET_PASSWORD")

    [dashboard] = [each for each in records_of(Dataset, found) if each.label == "exposure"]
    assert dashboard.sets["owners"] == ["Ann Lee"]
    assert edges_of(found, "two queries") == edges_of(recorded, "two queries")
    assert "hunter2" not in repr(found)


def change(folder: Path, pattern: str, edit: Callable[[str], str]) -> list[str]:
    """Return the messages about the recorded export with a changed file."""
    copytree(FOLDER, folder / "export")
    [file] = (folder / "export").rglob(pattern)
    file.write_text(edit(file.read_text()))
    found = read(export=str(folder / "export"), url=HOST)
    return [problem.message for problem in records_of(Problem, found)]


@pytest.mark.parametrize(
    ("pattern", "old", "new", "message"),
    [
        pytest.param("rows_*.yaml", "- gross", "- net", "column that its data set lost: net", id="column"),
        pytest.param("total_*.yaml", "metric: revenue", "metric: income", "lost: income", id="metric"),
        pytest.param(
            "rows_*.yaml", "all_columns:", "cells_of_tomorrow:", "cells_of_tomorrow", id="key of unknown role"
        ),
        pytest.param(
            "paid_*.yaml", "select c.segment", "select {{ secret_of(1) }} c.segment", "", id="template"
        ),
        pytest.param("total_*.yaml", "slice_name", "}: [slice_name", "", id="damaged document"),
    ],
)
def test_what_cannot_be_read_is_in_the_report(
    pattern: str, old: str, new: str, message: str, tmp_path: Path
) -> None:
    [problem, *_] = change(tmp_path, pattern, lambda text: text.replace(old, new))

    assert message in problem


def test_an_address_without_a_host_needs_a_name(tmp_path: Path) -> None:
    messages = change(tmp_path, "shop.yaml", lambda text: text.replace(REDSHIFT, "sqlite://"))

    assert set(messages) == {
        "the database shop (sqlite) names no host: give its namespace in superset[].databases"
    }


def test_init_finds_exports(tmp_path: Path) -> None:
    copytree(FOLDER, tmp_path / "bi")
    (tmp_path / "export.zip").write_bytes(pack())
    files = [StoredFile(str(file), file.stat().st_size) for file in tmp_path.rglob("*.*") if file.is_file()]

    found = SUPERSET.discovery().search(files, files)

    assert found.input is not None
    assert set(found.input.locations) == {str(tmp_path / "bi"), str(tmp_path / "export.zip")}


def test_doctor_wants_the_address_of_an_export() -> None:
    config = CONFIGURATION.parse(
        {"dag_name": "daily", "environment": "dev", "superset": [{"export": str(FOLDER)}]}
    )
    [check] = SUPERSET.checks()

    results = [each.fix for each in check.examine(config.sources["superset"])]

    assert results == ["", "set superset[0].url to the address of Superset"]


@pytest.mark.parametrize(
    ("text", "parameters"),
    [("{% if " + "not " * 100_000 + "a %}x{% endif %}", {}), ("{{ p }}" * 100_000, {"p": "x" * 1000})],
    ids=["negations", "repeated"],
)
def test_templates_cost_no_more_than_their_length(text: str, parameters: dict[str, str]) -> None:
    with suppress(Unrenderable):
        assert len(render(text, parameters, lambda _: None, lambda _: "")) <= 1_000_000
