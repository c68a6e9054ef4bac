"""Damaged exports of Superset, beside good ones: documents, bytes of zips, templates."""

import io
import json
import random
import zipfile
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

import pytest
import yaml

from lineage_merge.infra import yaml_text
from lineage_merge.merge import dataset_resolver
from lineage_merge.model.elements import Element, Problem
from lineage_merge.model.errors import ConfigError
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.document_files import Text
from lineage_merge.sources.superset.dashboards import translate_export
from lineage_merge.sources.superset.documents import read_export
from lineage_merge.sources.superset.files import EXPORT_FILES
from lineage_merge.sources.superset.server_facts import combine_facts
from lineage_merge.sources.superset.settings import Superset
from lineage_merge.sources.superset.template_values import Unrenderable
from lineage_merge.sources.superset.templates import render, strip_templates
from tests.fuzz import cases
from tests.fuzz.mutation import damaged, encoded, mutated, written
from tests.superset_recipe import FOLDER

_SETTINGS = Superset(export="/x", url="https://bi.example.com")
_NAMES = dataset_resolver.from_config(
    CONFIGURATION.parse({"dag_name": "d", "environment": "dev", "superset": [{"export": "/x"}]})
)
_GOOD = "good/"


@cache
def _recorded() -> dict[str, Any]:
    return {
        str(file.relative_to(FOLDER)): yaml.safe_load(file.read_text())
        for file in sorted(FOLDER.rglob("*.yaml"))
        if file.parent != FOLDER
    }


@cache
def _good() -> tuple[Text, ...]:
    """Return an export of which no UUID is one of the recorded export."""
    position = {
        "ROOT_ID": {"type": "ROOT", "children": ["CHART-1"]},
        "CHART-1": {"type": "CHART", "meta": {"chartId": 1, "uuid": "good-chart"}},
    }
    documents: dict[str, dict[str, Any]] = {
        "database": {"database_name": "good", "sqlalchemy_uri": "postgresql://good:5432/good"},
        "data_set": {
            "table_name": "good",
            "columns": [{"column_name": "good"}],
            "database_uuid": "good-database",
        },
        "chart": {
            "slice_name": "good",
            "viz_type": "pie",
            "params": {"groupby": ["good"]},
            "dataset_uuid": "good-data_set",
        },
        "dashboard": {"dashboard_title": "good", "position": position, "metadata": {}},
    }
    return tuple(
        Text(f"{_GOOD}{name}.yaml", yaml.safe_dump({**document, "uuid": f"good-{name}"}))
        for name, document in documents.items()
    )


class Documents(NamedTuple):
    """The texts of an export, of which one is damaged."""

    texts: tuple[Text, ...]


def _make(rng: random.Random) -> Documents:
    documents = _recorded()
    chosen = rng.choice([*documents])
    texts = []
    for name, document in documents.items():
        text = json.dumps(document)
        if name == chosen:
            text = written(rng, mutated(rng, document))
            if rng.random() < 0.1:
                text = damaged(rng, encoded(text)).decode("utf-8", "replace")
        texts.append(Text(name, text))
    return Documents((*texts, *_good()))


def _elements(texts: tuple[Text | Problem, ...]) -> list[Element]:
    export = read_export(texts)
    numbers = enumerate(export.documents["data_set"], 1)
    listed = [{"id": number, "uuid": uuid, "table_name": "orders"} for number, uuid in numbers]
    rules = [{"name": "r", "clause": "status = 'x'", "tables": [{"id": 1}, {"id": 2}]}]
    export.server = combine_facts(listed, rules)
    return list(translate_export(export, _SETTINGS, _NAMES.resolve_id))


@cache
def _good_elements() -> tuple[Element, ...]:
    export = read_export(_good())
    return tuple(translate_export(export, _SETTINGS, _NAMES.resolve_id))


def _check(found: list[Element]) -> None:
    cases.assert_records(_NAMES.records(found))
    for element in found:
        if isinstance(element, Problem):
            cases.assert_named(element)
            assert not element.document.startswith(_GOOD), element
    lost = [element for element in _good_elements() if element not in found]
    assert not lost


@pytest.mark.parametrize("numbers", cases.blocks(3_000, 500), ids=str)
def test_documents(numbers: range) -> None:
    cases.run("superset", numbers, _make, lambda case: _check(_elements(case.texts)))


def _pack(rng: random.Random) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for text in _good():
            archive.writestr(text.location, text.text)
    return damaged(rng, packed.getvalue())


@pytest.mark.parametrize("numbers", cases.blocks(3_000, 1000), ids=str)
def test_bytes_of_a_zip(numbers: range) -> None:
    def check(content: bytes) -> None:
        found = _elements(tuple(EXPORT_FILES.unzip("export.zip", content)))
        cases.assert_records(_NAMES.records(found))

    cases.run("superset zip", numbers, _pack, check)


_PIECES = (
    *("{{", "}}", "{%", "%}", "{#", "#}", " if ", " else ", " endif ", " for x in ", " endfor ", " set x = "),
    *("x", "1", "'a'", '"b"', "(", ")", "[", "]", ",", "|", "+", "~", " not ", " or ", " in ", " is none "),
    *("filter_values('a')", "where_in", "default(1)", "metric('m')", "dataset(", "include_metrics=True"),
    *("columns=['a']", "dataset(1)", "\n", "\x00", "é", "\\"),
)


def _template(rng: random.Random) -> str:
    pieces = [rng.choice(_PIECES) for _ in range(rng.randrange(1, 40))]
    return "".join(pieces) * rng.choice((1, 1, 1, 200))


@pytest.mark.parametrize("numbers", cases.blocks(6_000, 2000), ids=str)
def test_templates(numbers: range) -> None:
    def check(text: str) -> None:
        with suppress(Unrenderable):
            assert len(render(text, {"p": [1]}, lambda _: "m", lambda _: "t")) <= 1_000_000
        with suppress(Unrenderable):
            strip_templates(text)

    cases.run("superset templates", numbers, _template, check)


@pytest.mark.parametrize("numbers", cases.blocks(3_000, 1000), ids=str)
def test_both_parsers_of_yaml_agree(numbers: range) -> None:
    def make(rng: random.Random) -> str:
        text = yaml.safe_dump(mutated(rng, _recorded()[rng.choice([*_recorded()])]), allow_unicode=True)
        return damaged(rng, encoded(text)).decode("utf-8", "replace") if rng.random() < 0.5 else text

    def check(text: str) -> None:
        found = []
        for parse in (yaml_text.parse, lambda text, origin: yaml_text.parse_with_lines(text, origin).value):
            try:
                found.append(repr(parse(text, "x")))
            except ConfigError as error:
                found.append(error.problem)
        # Only one of them takes a tab inside of a key, which YAML allows.
        assert found[0] == found[1] or "\t" in text

    cases.run("yaml", numbers, make, check)
