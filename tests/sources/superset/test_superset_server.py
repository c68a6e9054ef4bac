"""A real Superset, in an environment of its own: the REST API and its exports give the same, and all of it.

``LINEAGE_MERGE_SUPERSET_CACHE`` names a folder that keeps the environment.
"""

import hashlib
import os
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from lineage_merge.model.elements import Dataset, FeedsColumn, Influences, Problem
from tests.record_reading import records_of
from tests.sources.superset.test_superset import edges_of, read
from tests.superset_chart_types import expect_edges, list_charts

pytestmark = pytest.mark.nightly

_CONSTRAINTS = Path(__file__).with_name("constraints.txt")
_REPOSITORY = Path(__file__).parents[3]
_START_SECONDS = 180
_SETTINGS = """
SECRET_KEY = "for tests, on one machine alone"
SQLALCHEMY_DATABASE_URI = "sqlite:///{folder}/superset.db"
WTF_CSRF_ENABLED = False
FEATURE_FLAGS = {{"ENABLE_TEMPLATE_PROCESSING": True}}
"""
_ADMIN = "--username admin --firstname Ann --lastname Lee --email ann@example.com --password admin".split()
# The API refuses databases without a host, so their place is configured.
_DATABASES = {"shop": "postgres://host:5432/shop"}


class Superset(NamedTuple):
    """What a server has: through its API, and in its exports."""

    api: list[Any]
    export: list[Any]
    examples: Path


def _install(cache: Path) -> Path:
    """Return the folder of programs of a cached environment."""
    digest = hashlib.sha256(_CONSTRAINTS.read_bytes() + sys.version.encode()).hexdigest()[:12]
    environment = cache / f"superset-{digest}"
    programs = environment / "bin"
    if not (environment / "complete").exists():
        venv.create(environment, with_pip=True, clear=True)
        python = str(programs / "python")
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        # Superset imports the last two, and does not require them.
        wanted = ["apache-superset", "rich", "cachetools"]
        subprocess.run([*pip, "--constraint", str(_CONSTRAINTS), *wanted], check=True)
        (environment / "complete").touch()
    return programs


@contextmanager
def _start(programs: Path, folder: Path) -> Iterator[str]:
    settings = folder / "superset_config.py"
    settings.write_text(_SETTINGS.format(folder=folder))
    variables = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    variables |= {"SUPERSET_CONFIG_PATH": str(settings), "SUPERSET_HOME": str(folder)}
    with (folder / "server.log").open("wb") as log:
        for words in (["db", "upgrade"], ["fab", "create-admin", *_ADMIN], ["init"]):
            command = [str(programs / "superset"), *words]
            subprocess.run(command, env=variables, stdout=log, stderr=log, check=True)
        command = [str(programs / "python"), "-m", "tests.superset_server", str(folder)]
        with subprocess.Popen(
            command, cwd=_REPOSITORY, env=variables, stdin=subprocess.PIPE, stdout=log, stderr=log
        ) as process:
            address = folder / "address"
            end = time.monotonic() + _START_SECONDS
            while not address.exists() and process.poll() is None and time.monotonic() < end:
                time.sleep(0.2)
            try:
                assert address.exists(), (folder / "server.log").read_text()[-5000:]
                yield address.read_text()
            finally:
                process.kill()


@pytest.fixture(scope="module")
def superset(tmp_path_factory: pytest.TempPathFactory) -> Superset:
    """Superset with charts of all types, read by both means."""
    folder = tmp_path_factory.mktemp("superset")
    try:
        programs = _install(Path(os.environ.get("LINEAGE_MERGE_SUPERSET_CACHE") or folder))
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no environment with Superset: {error}")
    with pytest.MonkeyPatch.context() as patch, _start(programs, folder) as url:
        patch.setenv("SUPERSET_PASSWORD", "admin")
        api = read(url=url, username="admin", password_env="SUPERSET_PASSWORD", databases=_DATABASES)
        export = read(export=str(folder / "exports.zip"), url=url, databases=_DATABASES)
    [examples] = programs.parent.glob("lib/python*/site-packages/superset/examples")
    return Superset(api, export, examples)


def test_each_column_of_a_chart_of_any_type_has_its_edge(superset: Superset) -> None:
    api, export = ({title: edges_of(records, title) for title in list_charts()} for records in superset[:2])

    assert api == {title: expect_edges(controls) for title, (_, controls) in list_charts().items()}
    assert api == export


def _by_name(records: list[Any], kind: type[FeedsColumn[str]] | type[Influences[str]]) -> dict[str, set[str]]:
    """Return the edges of a kind by the names of their targets, of views and dashboards."""
    names = {dataset.ref: str(dataset.properties.get("name")) for dataset in records_of(Dataset, records)}
    found: dict[str, set[str]] = {}
    edges: list[Any] = records_of(kind, records)
    for edge in edges:
        start = f"{names[edge.source]}.{edge.source_column}"
        end = getattr(edge, "target_column", "")
        text = f"{start} {','.join(edge.transformations)} {end}".strip()
        found.setdefault(names[edge.target], set()).add(text)
    return found


def test_api_and_export_have_the_same_columns_and_edges_but_those_by_number(superset: Superset) -> None:
    api, export = (_by_name(records, FeedsColumn) for records in superset[:2])

    assert api.pop("big") == {
        "sold.country IDENTITY country",
        "sold.gross IDENTITY gross",
        "orders.country IDENTITY land",
        "orders.amount AGGREGATION revenue",
        "orders.customer AGGREGATION revenue",
    }
    assert api.pop("sold") == {"orders.country IDENTITY country", "orders.status IDENTITY status"} | {
        "orders.amount TRANSFORMATION gross"
    }
    assert api == export


def test_rules_of_row_level_security_are_influences(superset: Superset) -> None:
    api, export = (_by_name(records, Influences) for records in superset[:2])

    own = {"orders.customer FILTER", "customers.customer FILTER", "customers.name FILTER"}
    assert api["orders"] == api["sold"] == own
    assert api["paid_by_segment"] == {
        *own - {"orders.customer FILTER", "customers.customer FILTER"},
        "orders.customer FILTER,JOIN",
        "customers.customer FILTER,JOIN",
        "customers.segment FILTER",
        "orders.country FILTER",
        "orders.status FILTER",
    }
    assert set(export) == {"paid_by_segment"}


def test_the_report_names_what_is_not_read_and_nothing_else(superset: Superset) -> None:
    layers = "chart deck_multi draws other charts, which are not read as its own: deck_slices"
    number = "is a query with a template that names a data set by its number, which only the server knows: "
    messages = [[problem.message for problem in records_of(Problem, records)] for records in superset[:2]]

    assert messages == [[layers], [f"{number}dataset: its tables are unknown", layers]]


def test_the_examples_of_superset_are_understood(superset: Superset, tmp_path: Path) -> None:
    database = yaml.safe_load((superset.examples / "_shared" / "database.yaml").read_text())
    database["sqlalchemy_uri"] = "postgresql://host:5432/examples"
    for dashboard in superset.examples.glob("*/dashboard.yaml"):
        folder = tmp_path / dashboard.parent.name
        for name in ("dashboard.yaml", "dataset.yaml", "charts/*.yaml", "datasets/*.yaml"):
            for file in dashboard.parent.glob(name):
                target = folder / "charts" / f"{file.parent.name}_{file.name}"
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(file.read_text())
        (folder / "database.yaml").write_text(yaml.safe_dump(database))
    found = read(export=str(tmp_path))

    assert records_of(Problem, found) == []
    assert len(records_of(FeedsColumn, found)) > 1000
