"""Documents of no measure: nested a hundred thousand times, in circles, and a manifest of 200 MB."""

import json
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.infra.storage import Slice
from lineage_merge.merge import dataset_resolver
from lineage_merge.model.elements import Feeds, Problem
from lineage_merge.model.errors import ConfigError, DocumentError, IntermediateError
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.questions.backends.folder import read_folder
from lineage_merge.sources.dbt.catalog import read_catalog
from lineage_merge.sources.dbt.manifest import read_manifest
from lineage_merge.sources.dbt.reader import elements as of_dbt
from lineage_merge.sources.dbt.settings import DbtProject
from lineage_merge.sources.hive.reader import _read_part
from lineage_merge.sources.openlineage import files as openlineage
from lineage_merge.sources.openlineage.jobs import job_of
from lineage_merge.sources.openlineage.runs import combine_events
from lineage_merge.sources.openlineage.translator import targets, translate
from lineage_merge.sources.runs.run_selection import PlanKey, SelectedPlan
from lineage_merge.sources.spline import export
from lineage_merge.sources.spline.agent.reader import AgentPlan, _translate, join_messages, read_slice
from lineage_merge.sources.sql.reader import elements as of_sql
from lineage_merge.sources.sql.settings import SqlFiles
from tests.agent_lines import line, of_database
from tests.dbt_column_project import Project
from tests.fuzz import cases
from tests.fuzz.spline_material import context, made
from tests.record_reading import records_of
from tests.sources.hive.hive_lines import copy, document
from tests.sources.hive.hive_lines import line as hive_line
from tests.sources.openlineage.made_events import event

DEEP = 100_000
_LISTS = "[" * DEEP + "]" * DEEP
_OBJECTS = '{"a":' * DEEP + "1" + "}" * DEEP
_WAREHOUSE = "redshift://wh.us-east-1:5439"
_NAMES = dataset_resolver.from_config(
    CONFIGURATION.parse(
        {"dag_name": "d", "environment": "dev", "dbt": [{"manifest": "/x", "namespace": _WAREHOUSE}]}
    )
)


def _part(path: Path, *lines: str) -> Slice:
    path.write_text("\n".join([*lines, ""]))
    return Slice(str(path), 0, path.stat().st_size)


def _problems(found: Iterator[Any]) -> list[str]:
    return [each.message for each in found if isinstance(each, Problem)]


@pytest.fixture(params=[_LISTS, _OBJECTS], ids=["lists", "objects"])
def deep(request: pytest.FixtureRequest) -> Iterator[str]:
    """JSON of a hundred thousand levels."""
    with cases.limit():
        yield request.param


@pytest.mark.parametrize("name", ["executionPlan.jsonl", "executionPlan.json"])
def test_a_deep_document_of_spline_costs_itself(tmp_path: Path, deep: str, name: str) -> None:
    good = '{"_key": "p"}'
    lines = ["[", good, ",", f'{{"_key": "q", "extra": {deep}}}', ",", good, "]"]
    if name.endswith("l"):
        lines = [good, f'{{"_key": "q", "extra": {deep}}}', good]
    part = export.Part("", "executionPlan", _part(tmp_path / name, *lines), is_json=name.endswith(".json"))
    found = list(export.texts(part))
    assert sum(1 for each in found if not isinstance(each, Problem) and json.loads(good) == _read(each)) == 2


def _read(found: export.Text) -> object:
    try:
        return json.loads(found.text)
    except RecursionError:
        return None


def test_a_deep_message_of_an_agent_costs_itself(tmp_path: Path, deep: str) -> None:
    plan = line(of_database(made().collections)[0])
    part = _part(tmp_path / "a.log", plan, f'["plan", {{"id": {deep}}}]', plan)
    assert [type(each) for each in read_slice((0, part), [])] == [AgentPlan, Problem, AgentPlan]


@pytest.mark.parametrize("name", ["e.jsonl", "e.json"])
def test_a_deep_event_costs_itself(tmp_path: Path, deep: str, name: str) -> None:
    good = json.dumps(event("COMPLETE", "06:00"))
    part = _part(tmp_path / name, good, f'{{"eventTime": "x", "run": {deep}}}', good)
    found = list(openlineage.events(part))
    assert [isinstance(each, Problem) for each in found] == [False, True, False]


def test_a_deep_line_of_hive_costs_itself(tmp_path: Path, deep: str) -> None:
    good = hive_line(document("insert", copy("dw.a", "ods.b")))
    found = list(_read_part(_part(tmp_path / "h.log", good, f'{{"version":"1.0","edges":{deep}}}', good)))
    assert [each[-1] is None for each in found] == [True, False, True]


@pytest.mark.parametrize("read", [read_manifest, read_catalog])
def test_a_deep_file_of_dbt_is_named(deep: str, read: Callable[[str, str], Any]) -> None:
    with pytest.raises(DocumentError, match=r"^m\.json: is not a dbt .*: nested too deeply$"):
        read("m.json", f'{{"metadata": {deep}}}')


def test_a_deep_node_file_is_named(tmp_path: Path, deep: str) -> None:
    for kind in ("nodes", "edges"):
        tmp_path.joinpath(kind).mkdir()
        _part(tmp_path / kind / "part-0.json", f'{{"id": {deep}}}')
    with pytest.raises(IntermediateError, match="invalid JSON line"):
        read_folder(str(tmp_path))


@pytest.mark.parametrize("text", ["[" * DEEP, "{a: " * 10_000, "- " * 10_000, "a: !x " * 1000, "? " * 10_000])
def test_a_deep_configuration_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "c.yml"
    file.write_text(f"dag_name: {text}" if text[0] in "[{" else text)
    with cases.limit(), pytest.raises(ConfigError, match=str(file)):
        CONFIGURATION.load(file, environ={})


def test_a_configuration_of_billions_of_values_takes_little_memory(tmp_path: Path) -> None:
    lines = ["x0: &x0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    lines += [f"x{level}: &x{level} [{', '.join([f'*x{level - 1}'] * 9)}]" for level in range(1, 30)]
    file = tmp_path / "laughs.yml"
    file.write_text("\n".join([*lines, "dag_name: *x29"]))
    code = f"""
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.model.errors import ConfigError
before = peak_kb()
try:
    CONFIGURATION.load({str(file)!r}, environ={{}})
except ConfigError as error:
    print(error.message, peak_kb() - before, sep="\\n")
"""
    message, grown = _python(code).splitlines()
    assert "expands to more than 100,000 values" in message
    assert int(grown) < 20_000  # KB


def _sql(tmp_path: Path, text: str) -> list[Any]:
    tmp_path.joinpath("a.sql").write_text(f"{text};\ninsert into dw.good select a from s.t;\n")
    return list(of_sql(SqlFiles(str(tmp_path), "hive", "spark_catalog", "p"), _NAMES))


@pytest.mark.parametrize(
    "text",
    [
        "insert into dw.t select " + "(" * 5000 + "a" + ")" * 5000 + " from s.u",
        "insert into dw.t select " + "coalesce(" * 3000 + "a" + ", 1)" * 3000 + " from s.u",
        "insert into dw.t select " + "case when a > 1 then " * 2000 + "a" + " end" * 2000 + " from s.u",
        "insert into dw.t " + "select * from (" * 2000 + "select a from s.u" + ") q" * 2000,
        "insert into dw.t select a from s.u where " + "not " * 5000 + "a",
        "create table dw.t (a " + "array<" * 3000 + "int" + ">" * 3000 + ")",
    ],
    ids=["brackets", "functions", "cases", "subqueries", "nots", "types"],
)
def test_deep_sql_costs_its_statement(tmp_path: Path, text: str) -> None:
    with cases.limit():
        found = _sql(tmp_path, text)
    assert ("s.t", "dw.good") in {(e.source.name, e.target.name) for e in found if isinstance(e, Feeds)}


def test_views_of_each_other_end(tmp_path: Path) -> None:
    tmp_path.joinpath("b.sql").write_text("create view dw.a as select * from dw.b")
    tmp_path.joinpath("c.sql").write_text("create view dw.b as select * from dw.a")
    with cases.limit():
        found = _sql(tmp_path, "create view dw.x as select *, a from dw.x")
    flows = {(e.source.name, e.target.name) for e in found if isinstance(e, Feeds)}
    assert {("dw.a", "dw.b"), ("dw.b", "dw.a")} <= flows


def test_dbt_nodes_that_are_their_own_parents_end(tmp_path: Path) -> None:
    project = Project("redshift").model("a", "select * from db.mart.b", "model.b")
    project.model("b", "select * from db.mart.a", "model.a").model("c", "select 1 as x", "model.c")
    nodes = project.nodes
    metric = {"name": "m", "depends_on": {"nodes": ["metric.p.m", "metric.p.n", "model.p.a"]}}
    metrics = {"metric.p.m": metric, "metric.p.n": {**metric, "name": "n"}}
    exposures = {"exposure.p.e": {"name": "e", "depends_on": {"nodes": ["metric.p.m", "exposure.p.e"]}}}
    manifest = tmp_path / "m.json"
    manifest.write_text(
        json.dumps({"metadata": project.metadata, "nodes": nodes, "metrics": metrics, "exposures": exposures})
    )
    with cases.limit():
        found = list(of_dbt(DbtProject(str(manifest), _WAREHOUSE)))
    flows = {(e.source.name, e.target.name) for e in found if isinstance(e, Feeds)}
    assert {
        ("db.mart.a", "db.mart.b"),
        ("db.mart.b", "db.mart.a"),
        ("db.mart.a", "metric.m"),
        ("metric.m", "e"),
    } <= flows


def test_runs_that_are_each_others_parents_are_jobs() -> None:
    def of(run: str, parent_run: str) -> dict[str, Any]:
        parent = {
            "run": {"runId": parent_run},
            "job": {"namespace": "tests", "name": "job"},
            "root": {"run": {"runId": run}},
        }
        return event(
            "COMPLETE",
            "06:00",
            "job",
            run,
            inputs=["s3://b|a"],
            outputs=["s3://b|a"],
            run_facets={"parent": parent},
        )

    for run, parent in (("r1", "r2"), ("r2", "r1"), ("r3", "r3")):
        added = combine_events([of(run, parent)])
        assert job_of(added).key.name == "job"
        assert any(isinstance(each, Feeds) for key in targets(added) for each in translate(added, key))


def test_an_agents_plan_in_circles_ends(tmp_path: Path) -> None:
    kind, plan = of_database(made().collections)[1]
    plan = json.loads(json.dumps(plan))
    operations = [plan["operations"]["write"], *plan["operations"]["reads"], *plan["operations"]["other"]]
    for each in operations:
        each["childIds"] = [other["id"] for other in operations]
        each["output"] = ["attr-0", "attr-1"]
    functions = [
        {"id": f"expr-{n}", "name": "f", "childRefs": [{"__exprId": f"expr-{m}"} for m in range(3)]}
        for n in range(3)
    ]
    plan["expressions"] = {"functions": functions}
    plan["attributes"] = [
        {
            "id": f"attr-{n}",
            "name": f"a{n}",
            "childRefs": [{"__attrId": "attr-0"}, {"__attrId": "attr-1"}, {"__exprId": "expr-0"}],
        }
        for n in range(2)
    ]
    [message] = read_slice((0, _part(tmp_path / "a.log", line((kind, plan)))), [])
    assert isinstance(message, AgentPlan)
    with cases.limit():
        [joined] = join_messages(message.plan, [message])
        key = ("", message.plan)
        rows: list[tuple[PlanKey, object]] = [(key, joined.plan), (key, SelectedPlan("app", 1, 1))]
        [translated] = _translate(context("agent"), key, rows, unrecorded=())
    assert records_of(Feeds, translated.records)


def test_a_manifest_of_200_mb_is_read_in_little_memory(tmp_path: Path) -> None:
    """Of what fills it, code and documentation of macros, nothing stays."""
    path = tmp_path / "manifest.json"
    nodes = Project("redshift").model("m", "select a from db.raw.t").nodes["model.p.m"]
    filling = json.dumps({f"key_{number}": "x" * 90 for number in range(100)})
    with path.open("w") as file:
        file.write(f'{{"metadata": {json.dumps(Project("redshift").metadata)}, "sources": {{}}, "nodes": {{')
        for number in range(2000):
            name = f"model.p.m{number}"
            node = json.dumps({**nodes, "unique_id": name, "name": f"m{number}", "alias": f"m{number}"})
            rest = ",".join(f'"meta_{each}": {filling}' for each in range(9))
            file.write(
                f'{"," if number else ""}"{name}": {node[:-1]}, "raw_code": "{"y" * 10_000}", {rest}}}'
            )
        file.write("}}")
    megabytes = path.stat().st_size >> 20
    assert megabytes >= 190
    code = f"""
from lineage_merge.sources.dbt.reader import elements
from lineage_merge.sources.dbt.settings import DbtProject
found = sum(type(each).__name__ == "Dataset" for each in elements(DbtProject({str(path)!r}, {_WAREHOUSE!r})))
print(found, peak_kb() >> 10, sep="\\n")
"""
    found, peak = map(int, _python(code).splitlines())
    assert found >= 2000
    assert peak < 3 * megabytes  # the text as bytes and as characters, and what is read of it


# Not ru_maxrss: it includes what the forked process of pytest had before it became this one.
_PEAK_KB = """
def peak_kb():
    with open("/proc/self/status") as file:
        return int(file.read().partition("VmHWM:")[2].split()[0])
"""


def _python(code: str) -> str:
    """Run code in a process of its own, which has the function `peak_kb`. Returns what it prints."""

    def at_most() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))

    done = subprocess.run(
        [sys.executable, "-c", _PEAK_KB + code],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
        preexec_fn=at_most,
    )
    return done.stdout
