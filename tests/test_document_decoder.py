"""Typed decoders accept what the JSON Schemas accept, and retain what is read."""

import gzip
import json
import random
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.infra.document_decoder import DocumentDecoder, loads
from lineage_merge.infra.json_schema import Checker, SchemaError
from lineage_merge.model.elements import JobKey, Problem
from lineage_merge.naming.jobs import SPARK
from lineage_merge.sources.spline.database_state import Snapshot
from lineage_merge.sources.spline.documents import (
    COLLECTIONS,
    PLAN_PARTS,
    decode,
    decode_lines,
    plan_key,
    plan_of,
)
from lineage_merge.sources.spline.labels import pairs
from lineage_merge.sources.spline.operation_chain import operations
from lineage_merge.sources.spline.translator import translate
from tests import drawing
from tests.fuzz import mutation

DATA = Path(__file__).parent / "data"
Json = dict[str, Any]


def _schema(package: str, name: str, part: str = "") -> Json:
    schema: Json = json.loads(files(f"lineage_merge.sources.{package}").joinpath(name).read_text("utf-8"))
    return {"$defs": schema["$defs"], "$ref": f"#/$defs/{part}"} if part else schema


@cache
def _captured(pattern: str, most: int = 1 << 20) -> list[str]:
    """Return lines of captured files, packed or not; a maximum of each."""
    found: list[str] = []
    for file in sorted(DATA.glob(pattern)):
        content = file.read_bytes()
        text = (gzip.decompress(content) if file.suffix == ".gz" else content).decode()
        found += text.split("\n")[:most]
    return [line for line in found if line]


def _spline(collection: str) -> list[str]:
    return _captured(f"spline*/*/{collection}.jsonl", 20) or ['{"_key": "tx", "curVal": 1}']


def _agent(version: str, kind: str) -> list[str]:
    messages = map(json.loads, _captured(f"agent/http_probe_{version}.jsonl"))
    return [json.dumps(body) for found, body, *_ in messages if found == kind]


def _objects(pattern: str, mark: str) -> list[str]:
    """Return the JSON objects in lines of logs."""
    lines = [line[line.find("{") :] for line in _captured(pattern, 100) if mark in line and line[-1] == "}"]
    return [line for line in lines if len(line) < 20_000]


def _manifest(section: str) -> Json:
    manifest: Json = json.loads((DATA / "dbt/shop_v12/manifest.json").read_text("utf-8"))
    entries: Json = manifest[section]
    return entries


FORMATS: dict[str, tuple[Json, list[str]]] = {
    **{name: (_schema("spline", "spline.schema.json", name), _spline(name)) for name in COLLECTIONS},
    **{
        f"agent {shape}": (_schema("spline.agent", "agent.schema.json", shape), texts)
        for shape, texts in {
            "plan_of_events": _agent("1_2", "plan"),
            "plan": _agent("1_2", "plan"),
            "plan_1_0": _agent("1_0", "plan"),
            "event": _agent("1_2", "event"),
        }.items()
    },
    "openlineage": (
        _schema("openlineage", "openlineage.schema.json", "RunEvent"),
        _objects("openlineage/events/*", '"eventTime"'),
    ),
    "hive": (_schema("hive", "hive.schema.json"), _objects("hive/*.log", '"edges"')),
    "dbt node": (
        _schema("dbt", "manifest.schema.json", "node"),
        [json.dumps(node) for node in _manifest("nodes").values()],
    ),
    "dbt source": (
        _schema("dbt", "manifest.schema.json", "relation"),
        [json.dumps(node) for node in _manifest("sources").values()],
    ),
}
CASES = 3000


def retained(document: Any, schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Any:
    """Return a valid document without the fields that a schema does not name: slow and plain."""
    parts = _parts(schema, definitions)
    if isinstance(document, list):
        items = [part["items"] for part in parts if "items" in part]
        return [retained(each, {"allOf": items}, definitions) for each in document] if items else document
    if not isinstance(document, dict):
        return document
    values = [part["additionalProperties"] for part in parts if "additionalProperties" in part]
    if values and True not in values:
        return {name: retained(each, {"allOf": values}, definitions) for name, each in document.items()}
    named = [part["properties"] for part in parts if "properties" in part]
    # What depends on a value is retained as it is.
    conditional = [_parts(part["then"], definitions) for part in parts if "if" in part]
    named += [{name: {} for name in part.get("properties", ())} for found in conditional for part in found]
    if not named or values:
        return document
    return {
        name: retained(each, {"allOf": [some[name] for some in named if name in some]}, definitions)
        for name, each in document.items()
        if any(name in some for some in named)
    }


def _parts(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = [schema]
    if "$ref" in schema:
        found += _parts(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    return found + [inner for each in schema.get("allOf", ()) for inner in _parts(each, definitions)]


def damaged(name: str) -> Iterator[str]:
    """Yield damaged documents of a format as text."""
    texts = FORMATS[name][1]
    for number in range(round(CASES * drawing.share())):
        rng = random.Random(f"{drawing.seed()}/decoder {name}/{number}")
        document = mutation.mutated(rng, json.loads(rng.choice(texts)))
        text = mutation.written(rng, document)
        yield (
            text
            if rng.random() < 0.8
            else mutation.damaged(rng, mutation.encoded(text)).decode(errors="replace")
        )


def parsed(text: str) -> Any:
    """Return a JSON value, or the error of a text that is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        return error


def same(one: object, other: object) -> bool:
    """Return whether two values are equal and of the same types: 1, 1.0 and True differ."""
    return repr(one) == repr(other)


@pytest.mark.parametrize("name", FORMATS)
def test_captured_documents_need_no_second_opinion(name: str) -> None:
    schema, texts = FORMATS[name]
    decoder = DocumentDecoder(schema)
    found = [decoder.decode(text) for text in texts]
    assert texts
    assert [
        same(each, retained(json.loads(text), schema, schema["$defs"]))
        for text, each in zip(texts, found, strict=True)
    ] == [True] * len(texts)


@pytest.mark.parametrize("name", FORMATS)
def test_a_damaged_document_is_accepted_if_the_schema_accepts_it(name: str) -> None:
    schema, _ = FORMATS[name]
    decoder, checker = DocumentDecoder(schema), Checker(schema)
    for text in damaged(name):
        fields = decoder.decode(text)
        document = parsed(text)
        if isinstance(document, Exception):
            # Fields that are not read are not parsed as numbers.
            assert fields is None or "Exceeds the limit" in str(document), text[:1000]
            continue
        error = checker.error(document)
        assert fields is None or error is None, text[:1000]
        read = decoder.read(document)
        if error:
            assert read == error, text[:1000]
        for found in (fields, read):
            if isinstance(found, dict):
                # Integers such as 1.0 are no reason to reject, and such documents are retained as they are.
                assert same(found, document) or same(found, retained(document, schema, schema["$defs"])), (
                    text[:1000]
                )


def test_lines_are_decoded_as_one_at_a_time() -> None:
    rng = random.Random(drawing.seed())
    for collection in PLAN_PARTS:
        broken = [
            each for each in damaged(collection) if each[:1] == "{" and each[-1:] == "}" and "\n" not in each
        ]
        whole = _spline(collection)
        for _ in range(20):
            lines = rng.choices(whole, k=5) + rng.choices(
                [*broken, "{}{}", '{"_key": "a"}{"_key": "b"}'], k=rng.randint(0, 2)
            )
            rng.shuffle(lines)
            found = list(decode_lines(collection, "\n".join(lines), "eu"))
            assert same(found, [decode(collection, line, "eu") for line in lines])


def test_text_is_parsed_as_by_json() -> None:
    texts = [text for name in ("operation", "expression", "openlineage") for text in damaged(name)]
    raw = ["-0", "1e400", "[18446744073709551616]", '"\\ud800"', "", *mutation.RAW.values()]
    for text in [*texts, *raw]:
        expected = parsed(text)
        if isinstance(expected, Exception):
            with pytest.raises(type(expected)) as caught:
                loads(text)
            assert isinstance(expected, RecursionError) or str(caught.value) == str(expected)
        else:
            assert same(loads(text), expected), text[:1000]


def test_plans_are_translated_of_the_fields_that_the_schema_names() -> None:
    everything: dict[tuple[str, str], dict[str, list[Json]]] = {}
    fields: dict[tuple[str, str], dict[str, list[Json]]] = {}
    for folder in sorted(DATA.glob("spline*/*/")):
        for collection in PLAN_PARTS:
            for line in _captured(f"{folder.relative_to(DATA)}/{collection}.jsonl"):
                key = str(folder), plan_key(collection, line)
                everything.setdefault(key, {}).setdefault(collection, []).append(json.loads(line))
                decoded = decode(collection, line)
                assert not isinstance(decoded, Problem)
                fields.setdefault(key, {}).setdefault(collection, []).append(decoded)
    assert len(fields) > 30
    job = JobKey(SPARK, "job")
    for key, documents in everything.items():
        whole, read = (plan_of(key[1], each, Snapshot(newest=5)) for each in (documents, fields[key]))
        assert list(translate(whole)) == list(translate(read))
        assert list(operations(whole, job, 1)) == list(operations(read, job, 1))
        header, retained_header = whole.header or {}, read.header or {}
        assert pairs({}, header) == pairs({}, retained_header)
        assert header.get("_created") == retained_header.get("_created")
        assert whole.is_open == read.is_open


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "maxProperties": 1},
        {"type": "object", "properties": {"a": {"minLength": 1}}},
        {"type": "object", "properties": {"a": {"type": "string", "enum": ["b"]}}},
        {"type": "object", "properties": {"a": {}}, "additionalProperties": False},
        {"type": "object", "properties": {"a": {"if": {"properties": {"b": {"const": 1}}}, "then": {}}}},
        {"type": "object", "allOf": [{"minLength": 1}, {"minLength": 2}]},
    ],
    ids=json.dumps,
)
def test_a_schema_that_types_cannot_express_is_refused(schema: Json) -> None:
    with pytest.raises(TypeError, match="type"):
        DocumentDecoder(schema)


def test_definitions_that_contain_themselves_are_checked_at_any_depth() -> None:
    tree = {"type": "object", "properties": {"name": {"type": "string"}, "inner": {"$ref": "#/$defs/tree"}}}
    decoder = DocumentDecoder({"$defs": {"tree": tree}, "$ref": "#/$defs/tree"})
    document: Json = {"name": "deepest"}
    wrong: Json = {"name": 1}
    for _ in range(10):
        document, wrong = {"inner": document}, {"inner": wrong}
    assert decoder.read(document) == document
    assert decoder.read(wrong) == SchemaError(
        ".".join(["inner"] * 10 + ["name"]), "must be a string, not an integer"
    )
