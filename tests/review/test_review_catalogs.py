"""Reviews with a catalog of the base, of the head, of another time, or without one."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.questions.backends import opening
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.review.assessment import review_dbt
from lineage_merge.review.dbt_versions import DbtFile
from lineage_merge.review.findings import ReviewResult
from lineage_merge.sources.dbt.catalog import CatalogFile, read_catalog
from tests.command_line import in_process
from tests.review.dbt_pull_requests.versions import NAMESPACE, file_of, scope

_Json = dict[str, Any]
RAW = '"shop"."raw"."payments"'


def relation(name: str) -> str:
    return f'"shop"."main"."{name}"'


def manifest(invocation: str, *, seed: str = "1", **models: str) -> _Json:
    """Return a manifest of models: each reads the source, the seed, or other models that its SQL names."""
    content: _Json = {
        "metadata": {
            "dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json",
            "project_name": "shop",
            "adapter_type": "duckdb",
            "generated_at": "2026-05-04T03:00:00Z",
            "invocation_id": invocation,
        },
        "nodes": {},
        "sources": {
            "source.shop.raw.payments": {
                "resource_type": "source",
                "name": "payments",
                "identifier": "payments",
                "source_name": "raw",
                "schema": "raw",
                "relation_name": RAW,
            }
        },
    }
    content["nodes"]["seed.shop.rates"] = {
        "resource_type": "seed",
        "name": "rates",
        "schema": "main",
        "relation_name": relation("rates"),
        "checksum": {"name": "sha256", "checksum": seed},
    }
    for name, sql in models.items():
        language, _, code = sql.rpartition(":")
        parents = [f"model.shop.{other}" for other in models if relation(other) in code]
        parents += ["source.shop.raw.payments"] if RAW in code else []
        parents += ["seed.shop.rates"] if relation("rates") in code else []
        content["nodes"][f"model.shop.{name}"] = {
            "resource_type": "model",
            "name": name,
            "schema": "main",
            "relation_name": relation(name),
            "language": language or "sql",
            "compiled_code": code,
            "config": {"materialized": "table"},
            "depends_on": {"nodes": parents},
        }
    for section in ("nodes", "sources"):
        for unique_id, entry in content[section].items():
            entry |= {"unique_id": unique_id, "package_name": "shop", "database": "shop"}
    return content


def catalog(invocation: str, day: int = 4, **relations: str) -> _Json:
    """Return a catalog: columns and types by the name of a model, of the seed, or of the source."""
    found: _Json = {
        "metadata": {
            "dbt_schema_version": "https://schemas.getdbt.com/dbt/catalog/v1.json",
            "invocation_id": invocation,
            "generated_at": f"2026-05-{day:02}T04:00:00Z",
        },
        "nodes": {},
        "sources": {},
    }
    for name, text in relations.items():
        columns = [column.partition(":") for column in text.split()]
        entry = {
            "columns": {
                column: {"name": column, "type": kind or "INTEGER", "index": at}
                for at, (column, _, kind) in enumerate(columns)
            }
        }
        if name == "payments":
            found["sources"]["source.shop.raw.payments"] = entry
        else:
            found["nodes"][f"{'seed' if name == 'rates' else 'model'}.shop.{name}"] = entry
    return found


def file(content: _Json, of: _Json | None) -> DbtFile:
    tables: CatalogFile | None = None
    if of is not None:
        tables, problems = read_catalog("catalog.json", json.dumps(of))
        assert problems == []
    return DbtFile(file_of(content).manifest, tables)


def review(
    base: _Json, head: _Json, of_base: _Json | None = None, of_head: _Json | None = None
) -> ReviewResult:
    return review_dbt(file(base, of_base), file(head, of_head), scope())


def found(result: ReviewResult) -> set[tuple[str, str, str]]:
    return {
        (a.finding.severity.value, a.finding.kind, a.finding.title.removeprefix("shop.main."))
        for a in result.findings
    }


def incomparable(result: ReviewResult) -> str:
    return "\n".join(result.incomparable)


STAGING = f"select id, fee, paid_at from {RAW}"
RENAMED = f"select id, fee as charge, paid_at from {RAW}"
READER = f"select id, fee * 2 as twice from {relation('stg')}"
BASE = manifest("prod", stg=STAGING, fct=READER)
HEAD = manifest("ci", stg=RENAMED, fct=READER)
OF_BASE = catalog("prod", payments="id fee paid_at", stg="id fee paid_at", fct="id twice")
OF_HEAD = catalog("ci", 5, payments="id fee paid_at", stg="id charge paid_at", fct="id twice")
# After a nightly run between both.
LATER = catalog("nightly", 9, payments="id fee paid_at", stg="id fee paid_at", fct="id twice")


@pytest.mark.parametrize(
    ("of_base", "of_head"),
    [
        (None, None),
        (OF_BASE, None),
        (None, OF_HEAD),
        (OF_BASE, OF_HEAD),
        (None, OF_BASE),
        (OF_BASE, OF_BASE),
        (None, LATER),
        (OF_BASE, LATER),
        # Written beside the manifest of the head, but before its models were built.
        (OF_BASE, {**OF_BASE, "metadata": OF_HEAD["metadata"]}),
    ],
    ids=["none", "base", "head", "both", "of base as head", "twice", "later", "base, later", "not built"],
)
def test_a_renamed_column_breaks_its_reader_with_any_catalog(
    of_base: _Json | None, of_head: _Json | None
) -> None:
    result = review(BASE, HEAD, of_base, of_head)
    assert found(result) == {("breaking", "column renamed", "stg#fee")}
    assert [each.vertex.name for a in result.findings for each in a.broken if each.kind == "dataset"] == [
        "fct"
    ]


@pytest.mark.parametrize("of_head", [None, OF_BASE, OF_HEAD], ids=["none", "of base", "of head"])
def test_select_star_of_a_source_has_the_columns_of_whichever_catalog_exists(of_head: _Json | None) -> None:
    base = manifest("prod", stg=f"select * from {RAW}", fct=READER)
    head = manifest("ci", stg=f"select id, paid_at from {RAW}", fct=READER)
    result = review(base, head, OF_BASE, of_head)
    assert found(result) == {("breaking", "column dropped", "stg#fee")}
    assert incomparable(result) == ""


def test_unchanged_sql_that_selects_all_columns_of_a_changed_model_has_its_new_columns() -> None:
    passing = f"select * from {relation('stg')}"
    late = f"select id, fee + 1 as more from {relation('mid')}"
    adapted = f"select id, charge + 1 as more from {relation('mid')}"
    old = catalog(
        "prod", payments="id fee paid_at", stg="id fee paid_at", mid="id fee paid_at", fct="id more"
    )
    base = manifest("prod", stg=STAGING, mid=passing, fct=late)
    broken = review(base, manifest("ci", stg=RENAMED, mid=passing, fct=late), old, old)
    assert found(broken) == {("breaking", "column renamed", "stg#fee")}
    fitting = review(base, manifest("ci", stg=RENAMED, mid=passing, fct=adapted), old, old)
    assert {severity for severity, _, _ in found(fitting)} == {"changed"}


@pytest.mark.parametrize(
    "reader",
    [
        f"select id, fee * 2 as twice, 1 as one from {relation('stg')}",
        f"select id from {relation('stg')} where fee > 0",
        f"with s as (select * from {relation('stg')}) select id, s.fee as twice from s",
    ],
    ids=["another column", "filter", "cte"],
)
def test_a_reader_that_the_change_edits_without_adapting_it_breaks(reader: str) -> None:
    result = review(BASE, manifest("ci", stg=RENAMED, fct=reader), OF_BASE, OF_BASE)
    assert ("breaking", "missing column", "fct") in found(result)
    [message] = [a.finding.message for a in result.findings if a.finding.kind == "missing column"]
    assert message == "its SQL names stg#fee, which no longer exists"


def test_a_reader_that_names_every_column_is_not_taken_for_one_that_copies_all() -> None:
    reader = f"select id, fee, paid_at from {relation('stg')}"
    result = review(manifest("prod", stg=STAGING, fct=reader), manifest("ci", stg=RENAMED, fct=reader))
    assert ("breaking", "missing column", "fct") in found(result)
    star = f"select * from {relation('stg')}"
    copied = review(manifest("prod", stg=STAGING, fct=star), manifest("ci", stg=RENAMED, fct=star))
    assert found(copied) == {("changed", "column renamed", "stg#fee")}


@pytest.mark.parametrize(
    "compiled",
    [
        RENAMED.replace("fee as charge", "fee").replace(", ", " ,\n  "),
        f"-- nightly\n{STAGING.upper().replace(RAW.upper(), RAW)}",
    ],
    ids=["layout", "case"],
)
def test_a_catalog_counts_for_sql_that_differs_in_its_layout_only(compiled: str) -> None:
    of_base = catalog("prod", payments="id fee paid_at", stg="id fee paid_at legacy")
    readers = "select * from {}", "select *, 1 as one from {}"
    base, head = (
        manifest(name, stg=sql, fct=reader.format(relation("stg")))
        for name, sql, reader in (("prod", STAGING, readers[0]), ("ci", compiled, readers[1]))
    )
    result = review(base, head, of_base)
    # `legacy` is in the warehouse, of both versions.
    assert found(result) == {("info", "column added", "fct#one")}
    assert incomparable(result) == ""


def test_a_schema_of_ci_changes_no_sql() -> None:
    """Two models are too few to recognize a target."""
    text = json.dumps(manifest("ci", stg=STAGING, fct=READER.replace("twice", "double")))
    head = json.loads(text.replace('\\"main\\"', '\\"pr_7\\"').replace('"main"', '"pr_7"'))
    of_base = catalog("prod", payments="id fee paid_at", stg="id fee paid_at legacy", fct="id twice")
    result = review(BASE, head, of_base)
    assert ("breaking", "column dropped", "stg#legacy") not in found(result)
    assert ("changed", "column renamed", "fct#twice") in found(result)


def test_columns_that_no_sql_and_no_own_catalog_determines_are_unknown() -> None:
    star = f"select * from {RAW}"
    base = manifest("prod", stg=star, fct=READER)
    head = manifest("ci", stg=f"{star} where paid_at is not null", fct=READER)
    result = review(base, head, catalog("prod", stg="id fee paid_at"), None)
    assert "model.shop.stg: its columns are not all known" in incomparable(result)
    assert found(result) == {("changed", "filter changed", "stg")}


def test_what_a_python_model_uses_of_a_changed_model_is_unknown() -> None:
    code = f"python:dbt.ref('stg') # {relation('stg')}"
    base, head = (manifest(name, stg=sql, fct=code) for name, sql in (("prod", STAGING), ("ci", RENAMED)))
    result = review(base, head, OF_BASE, OF_BASE)
    assert "model.shop.fct reads stg, whose columns change; which it uses is unknown" in incomparable(result)


def test_a_reader_that_becomes_unreadable_is_not_taken_for_adapted() -> None:
    result = review(BASE, manifest("ci", stg=RENAMED, fct=f"{READER} qualify (("), OF_BASE, OF_BASE)
    assert ("breaking", "column renamed", "stg#fee") in found(result)


def test_a_changed_seed_has_only_the_columns_of_its_own_catalog() -> None:
    reader = f"select code, rate from {relation('rates')}"
    base, head = (manifest(name, seed=name, fct=reader) for name in ("prod", "ci"))
    old, new = catalog("prod", rates="code rate"), catalog("ci", 5, rates="code")
    assert found(review(base, head, old, new)) == {("breaking", "column dropped", "rates#rate")}
    unknown = review(base, head, old, old)
    assert "seed.shop.rates: its columns are not all known" in incomparable(unknown)
    same = review(base, {**base, "metadata": head["metadata"]}, old, old)
    assert (found(same), incomparable(same)) == (set(), "")


def test_types_of_a_changed_model_are_those_of_the_catalog_of_its_own_manifest() -> None:
    of_head = catalog("ci", 5, payments="id fee paid_at", stg="id fee:DOUBLE paid_at", fct="id twice")
    head = manifest("ci", stg=f"select id, fee / 1 as fee, paid_at from {RAW}", fct=READER)
    kinds = {kind for of in (of_head, LATER) for _, kind, _ in found(review(BASE, head, OF_BASE, of))}
    assert kinds == {"type changed", "expression changed"}
    later = found(review(BASE, head, OF_BASE, LATER))
    assert later == {("changed", "expression changed", "stg#fee")}


def test_the_catalog_of_the_configuration_is_not_that_of_the_head(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in (("base", BASE), ("head", HEAD), ("catalog", OF_BASE)):
        Path(f"{name}.json").write_text(json.dumps(content), "utf-8")
    project = {"manifest": "head.json", "namespace": NAMESPACE, "catalog": "catalog.json"}
    settings = {
        "dag_name": "daily",
        "environment": "dev",
        "dbt": [project],
        "gremlin": {"endpoint": "embedded"},
    }
    Path("lineage_merge.yml").write_text(json.dumps(settings), "utf-8")
    arguments = ("review", "--base", "base.json", "-c", "lineage_merge.yml")
    home = str(tmp_path / "home")
    outcome = in_process(*arguments, LINEAGE_MERGE_HOME=home)
    assert (outcome.code, "column renamed" in outcome.out) == (12, True), outcome.out
    # Without a graph on this machine, as in CI.
    assert "no graph: only the project's own" in outcome.out + outcome.err
    # As after `dbt compile`. A catalog that is typed has to exist.
    Path("catalog.json").unlink()
    outcome = in_process(*arguments, LINEAGE_MERGE_HOME=home)
    assert (outcome.code, "column renamed" in outcome.out) == (12, True), outcome.err
    assert "catalog.json: no such file: columns and types are those of the SQL" in outcome.out + outcome.err
    typed = in_process(*arguments, "--catalog", "catalog.json", LINEAGE_MERGE_HOME=home)
    assert (typed.code == 12, "no such file" in typed.err) == (False, True)


def test_the_graph_of_a_configuration_without_an_endpoint_is_the_embedded_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked: list[Path | None] = []

    @contextmanager
    def open_graph(_: object, __: object, graph_file: Path | None = None) -> Iterator[InMemory]:
        asked.append(graph_file)
        yield InMemory((), ())

    monkeypatch.setattr(opening, "open_graph", open_graph)
    for name, content in (("base", BASE), ("head", HEAD)):
        Path(f"{name}.json").write_text(json.dumps(content), "utf-8")
    project = {"manifest": "head.json", "namespace": NAMESPACE}
    Path("lineage_merge.yml").write_text(
        json.dumps({"dag_name": "daily", "environment": "dev", "dbt": [project]}), "utf-8"
    )
    graph = {"LINEAGE_MERGE_GRAPH_FILE": str(tmp_path / "graph")}
    arguments = ("review", "--base", "base.json", "-c", "lineage_merge.yml")
    assert (in_process(*arguments, **graph).code, asked) == (12, [])  # there is no graph
    (tmp_path / "graph").mkdir()
    assert (in_process(*arguments, **graph).code, asked) == (12, [None])


def test_what_the_graph_does_not_have_of_the_project_is_known_from_the_manifest_before() -> None:
    files = file(BASE, None), file(HEAD, None)
    result = review_dbt(*files, scope(), InMemory((), ()))
    assert found(result) == {("breaking", "column renamed", "stg#fee")}
    [note] = [each for each in result.notes if each.startswith("the graph does not have")]
    assert "shop.main.fct, shop.main.stg: of their readers, only those in the project are known" in note
