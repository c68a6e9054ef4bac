"""What the fuzzers found, each as small as it gets."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.infra.document_decoder import DocumentDecoder
from lineage_merge.infra.json_schema import Checker
from lineage_merge.infra.storage import Slice, read_lines
from lineage_merge.merge import dataset_resolver
from lineage_merge.model.elements import Feeds, Problem
from lineage_merge.model.errors import ConfigError, DocumentError
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources import line_files
from lineage_merge.sources.dbt.catalog import read_catalog
from lineage_merge.sources.dbt.manifest import read_manifest
from lineage_merge.sources.dbt.reader import elements as of_dbt
from lineage_merge.sources.dbt.settings import DbtProject
from lineage_merge.sources.hive.log import Found
from lineage_merge.sources.hive.query import Query, read_query
from lineage_merge.sources.hive.reader import _read_part
from lineage_merge.sources.openlineage import files as openlineage
from lineage_merge.sources.openlineage.runs import newest
from lineage_merge.sources.spline import export
from lineage_merge.sources.spline.agent.messages import Message, check_message
from lineage_merge.sources.spline.agent.reader import read_slice
from lineage_merge.sources.spline.documents import name_of, read
from lineage_merge.sources.spline.reader import _translate_texts
from lineage_merge.sources.sql.reader import elements as of_sql
from lineage_merge.sources.sql.settings import SqlFiles, project_of
from tests.agent_lines import line, of_database
from tests.dbt_column_project import Project
from tests.fuzz.mutation import ADDRESSES, SECRET
from tests.fuzz.spline_material import bundle, context, made, plans
from tests.sources.hive.hive_lines import PREFIX, copy, document, found_in, with_names
from tests.sources.hive.hive_lines import line as hive_line
from tests.sources.openlineage.made_events import event

_WAREHOUSE = "redshift://wh.us-east-1:5439"
# More than one block, so that a cut leaves some whole lines.
_FILLING = [f"{number} another logger's line".encode() for number in range(20_000)]


def _hive(part: Slice) -> tuple[int, list[str]]:
    rows = list(_read_part(part))
    return sum(row[0] is not None for row in rows), [json.loads(row[-1])[3] for row in rows if row[-1]]


def _openlineage(part: Slice) -> tuple[int, list[str]]:
    found = list(openlineage.events(part))
    problems = [each.message for each in found if isinstance(each, Problem)]
    return len(found) - len(problems), problems


def _agent(part: Slice) -> tuple[int, list[str]]:
    found = list(read_slice((0, part), []))
    problems = [each.message for each in found if isinstance(each, Problem)]
    return len(found) - len(problems), problems


@pytest.mark.parametrize(
    ("read", "good"),
    [
        (_hive, hive_line(document("insert", copy("dw.a", "ods.b")))),
        (_openlineage, json.dumps(event("COMPLETE", "06:00"))),
        (_agent, line(of_database(made().collections)[0])),
    ],
    ids=["hive", "openlineage", "agent"],
)
def test_a_packed_log_that_is_cut_short_gives_what_stands_before_the_cut(
    tmp_path: Path, read: Callable[[Slice], tuple[int, list[str]]], good: str
) -> None:
    file = tmp_path / "today.log.gz"
    packed = gzip.compress(b"\n".join([good.encode(), *_FILLING, good.encode()]))
    file.write_bytes(packed[: len(packed) - 100])

    [part] = line_files.find([str(file)])

    assert read(part) == (1, ["not a valid gzip file"])


def test_lines_before_a_cut_are_read_and_then_it_is_named(tmp_path: Path) -> None:
    file = tmp_path / "a.gz"
    file.write_bytes(gzip.compress(b"\n".join(_FILLING))[:-100])
    found = read_lines(Slice(str(file), 0, 1))
    assert next(found) == (0, _FILLING[0] + b"\n")
    with pytest.raises(DocumentError, match=r"a\.gz: not a valid gzip file$"):
        list(found)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_number_of_json_fits_no_schema(number: float) -> None:
    checker = Checker({"type": ["number", "null"]})
    assert checker.error(number) is not None
    assert [checker.error(each) for each in (1, 1.5, 10**400, None)] == [None] * 4
    assert checker.error(True) is not None


def test_hive_takes_no_nan_for_a_duration() -> None:
    made_query = document("insert", copy("dw.a", "ods.b"), duration=float("nan"))
    found = read_query(Found("log, line 1", made_query))
    assert isinstance(found, Problem)
    assert found.field == "duration"


def test_hive_reads_ids_that_are_written_with_a_point() -> None:
    text = (
        json.dumps(document("insert", copy("dw.a", "ods.b"))).replace("[0]", "[0.0]").replace("[1]", "[1.0]")
    )
    found = read_query(Found("log, line 1", json.loads(text)))
    assert isinstance(found, Query)
    assert [str(each) for each in found.targets] == [str(each) for each in _plain().targets]


def _plain() -> Query:
    found = read_query(Found("log, line 1", document("insert", copy("dw.a", "ods.b"))))
    assert isinstance(found, Query)
    return found


def test_hive_reads_half_a_character_in_a_collectors_json() -> None:
    malformed = document("insert", copy("dw.a", "ods.b")) | {"queryText": "insert \ud800", "hash": ""}
    [found] = found_in(json.dumps({"message": PREFIX + json.dumps(malformed, ensure_ascii=False)}))
    assert isinstance(found, Found)
    assert isinstance(read_query(found), Query)
    assert isinstance(read_query(found._replace(document=with_names(found.document))), Query)


@pytest.mark.parametrize("collection", ["follows", "takes", "produces"])
def test_an_edge_with_a_key_that_is_no_text_is_rejected(collection: str) -> None:
    problem = read(collection, {"_key": {"a": 1}, "_from": "a/b", "_to": "a/c"})
    assert isinstance(problem, Problem)
    assert problem.field == "_key"


@pytest.mark.parametrize(("field", "value"), [("_created", 2**63), ("_created", 1e300)])
def test_a_number_that_spark_cannot_hold_is_rejected(field: str, value: float) -> None:
    problem = read("executionPlan", {"_key": "p", field: value})
    assert isinstance(problem, Problem)
    assert problem.field == field


@pytest.mark.parametrize("timestamp", [2**63, 1_767_225_600_000_000], ids=["no long", "microseconds"])
def test_an_event_of_a_time_that_is_none_does_not_make_all_others_old(timestamp: int) -> None:
    progress = {**made().collections["progress"][0], "timestamp": timestamp}
    spline = read("progress", progress)
    assert isinstance(spline, Problem)
    body = {"planId": "0" * 8 + "-0000" * 3 + "-" + "0" * 12, "timestamp": timestamp}
    agent = check_message(Message("log, line 1", "event", body))
    assert (spline.field, agent and agent.field) == ("timestamp", "timestamp")


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_key_that_is_an_address_is_named_without_its_password(address: str) -> None:
    for document_ in ({"_key": address}, {"_belongsTo": address}, {"_belongsTo": {"a": address}}):
        assert SECRET not in name_of("operation", document_)


def _manifest(**sections: Any) -> str:
    return json.dumps({"metadata": Project("redshift").metadata, "nodes": {}, **sections})


def test_a_number_of_thousands_of_digits_is_named() -> None:
    text = _manifest().replace("{}", '{"a": ' + "9" * 5000 + "}")
    with pytest.raises(DocumentError, match=r"^m\.json: is not a dbt manifest: a number is too long$"):
        read_manifest("m.json", text)


@pytest.mark.parametrize("kind", ["exposures", "metrics", "functions"])
def test_what_has_no_columns_may_call_anything_so(kind: str) -> None:
    entry = {"unique_id": "x.p.m", "resource_type": "x", "name": "m", "columns": {"a": "text"}}
    manifest, problems = read_manifest("m.json", _manifest(**{kind: {"x.p.m": entry}}), with_columns=True)
    assert list(manifest.nodes) == ["x.p.m"]
    assert [each for each in problems if each.kind == "rejected"] == []


@pytest.mark.parametrize("kind", ["source", "metric", "exposure", "saved_query", "semantic_model"])
def test_a_node_of_another_sections_kind_is_checked_as_that(kind: str) -> None:
    nodes = {"x.p.m": {"unique_id": "x.p.m", "resource_type": kind}}
    manifest, problems = read_manifest("m.json", _manifest(nodes=nodes))
    assert (list(manifest.nodes), [each.kind for each in problems]) == ([], ["rejected"])


@pytest.mark.parametrize("read", [read_manifest, read_catalog])
def test_a_version_that_is_an_address_is_named_without_its_password(read: Callable[[str, str], Any]) -> None:
    document_ = {"metadata": {"dbt_schema_version": ADDRESSES[0]}, "nodes": {}, "sources": {}}
    with pytest.raises(DocumentError) as caught:
        read("m.json", json.dumps(document_))
    assert SECRET not in caught.value.message


def test_a_parent_that_is_an_address_is_named_without_its_password(tmp_path: Path) -> None:
    project = Project("redshift").model("m", "select 1 as a", ADDRESSES[1])
    project.nodes["model.p.m"]["depends_on"] = {"nodes": [ADDRESSES[1]]}
    file = tmp_path / "m.json"
    file.write_text(_manifest(nodes=project.nodes))
    messages = [
        each.message for each in of_dbt(DbtProject(str(file), _WAREHOUSE)) if isinstance(each, Problem)
    ]
    assert any("depends on" in each for each in messages)
    assert SECRET not in "".join(messages)


def _sql(tmp_path: Path, dialect: str, text: str) -> list[Any]:
    known = dataset_resolver.from_config(
        CONFIGURATION.parse(
            {"dag_name": "d", "environment": "dev", "sql": [{"path": "/x", "dialect": "hive"}]}
        )
    )
    tmp_path.joinpath("a.sql").write_text(f"{text};\ninsert into dw.good select a from s.t;\n")
    return list(of_sql(SqlFiles(str(tmp_path), dialect, _WAREHOUSE, "p"), known))


def test_a_statement_that_is_parsed_to_nothing_known_costs_itself(tmp_path: Path) -> None:
    found = _sql(tmp_path, "redshift", "from.a insert  overwrite select dw.u select")
    assert [each.field for each in found if isinstance(each, Problem) and each.kind == "rejected"] == [
        "line 1"
    ]
    assert any(isinstance(each, Feeds) for each in found)


def test_an_unsupported_statement_is_reported_without_its_password(tmp_path: Path) -> None:
    found = _sql(tmp_path, "snowflake", f"alter {ADDRESSES[1]} x")
    assert SECRET not in "".join(each.message for each in found if isinstance(each, Problem))


def test_a_renamed_element_of_an_array_affects_no_other_statement(tmp_path: Path) -> None:
    found = _sql(tmp_path, "hive", "alter table t[0]rename t")

    assert [each.field for each in found if isinstance(each, Problem) and each.kind == "rejected"] == [
        "line 1"
    ]
    assert any(isinstance(each, Feeds) for each in found)


@pytest.mark.parametrize("path", ["sql\0", "a" * 5000, "~missing\0/x", "\ud800"], ids=ascii)
def test_a_folder_that_there_cannot_be_still_has_a_name(path: str) -> None:
    assert project_of(path)


@pytest.mark.parametrize("path", ["a\0b", "half \ud800"], ids=ascii)
def test_a_configuration_of_a_name_that_there_cannot_be_is_named(path: str) -> None:
    with pytest.raises(ConfigError, match="not the name of a file"):
        CONFIGURATION.load(path, environ={})


def test_a_configuration_at_an_address_is_named_without_its_password() -> None:
    with pytest.raises(ConfigError) as caught:
        CONFIGURATION.load(ADDRESSES[0], environ={})
    assert SECRET not in caught.value.message


def test_a_value_of_the_wrong_type_that_is_deeply_nested_is_a_problem_of_its_document() -> None:
    deep: list[Any] = []
    for _ in range(10_000):
        deep = [deep]
    decoder = DocumentDecoder({"type": "object", "properties": {"num": {"type": "integer"}}})

    assert decoder.error({"num": deep}) == ("", "is nested too deeply")
    assert decoder.error({"num": 1, "extra": deep}) is None


def test_a_static_job_with_a_malformed_type_of_event_is_ordered_by_time() -> None:
    events = [
        {
            "eventTime": f"2026-11-21T09:{minute}:00Z",
            "eventType": [""],
            "job": {"namespace": "n", "name": "j"},
        }
        for minute in (10, 20)
    ]
    assert newest(events) == events[1]


def test_a_swap_without_a_table_affects_no_other_statement(tmp_path: Path) -> None:
    found = _sql(tmp_path, "postgres", "alter table.n swap")
    assert [each.field for each in found if isinstance(each, Problem) and each.kind == "rejected"] == [
        "line 1"
    ]
    assert any(isinstance(each, Feeds) for each in found)


def test_a_damaged_line_among_documents_does_not_hide_them(tmp_path: Path) -> None:
    file = tmp_path / "txInfo.jsonl"
    damaged = b"\xabe\xf6\x96\xbe\t\xd8\xd7\xd9o\xd7\x89\xb0\xb1oV\xe8\x99\x08\x05\xee\xa5"
    file.write_bytes(b'{"_key": "7"}\n' + damaged + b'\n{"_key": "8"}\n')
    part = export.Part("", "txInfo", Slice(str(file), 0, file.stat().st_size))
    assert [document_["_key"] for document_ in export.valid_documents(part)] == ["7", "8"]
    [problem] = [each for each in export.documents(part) if isinstance(each, Problem)]
    assert (problem.document, problem.message[:14]) == (f"{file}, line 2", "not UTF-8 text")


def test_a_time_of_creation_with_a_point_is_a_whole_number() -> None:
    key, documents_of_plan = plans()[0]
    texts = [
        (collection, json.dumps(document_ | {"_created": 1_795_253_545_721.0}))
        for collection, documents_of_kind in documents_of_plan.items()
        for document_ in documents_of_kind
    ]
    [plan] = _translate_texts(context(), *bundle(key, texts, chosen=True), unrecorded=frozenset())
    assert plan.output
    assert type(plan.output.created) is int
