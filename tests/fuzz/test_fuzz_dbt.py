"""Damaged manifests, catalogs and run results of dbt: as text, and entry by entry beside a good one."""

import json
import random
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lineage_merge.merge import dataset_resolver
from lineage_merge.model.elements import Element, Problem
from lineage_merge.model.errors import LineageMergeError
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.dbt.reader import elements
from lineage_merge.sources.dbt.settings import DbtProject
from tests.conftest import DATA
from tests.dbt_column_project import Project
from tests.fuzz import cases
from tests.fuzz.mutation import ADDRESSES, damaged, encoded, mutated, packed, written

_SETTINGS = {"manifest": "/x", "namespace": "redshift://wh.us-east-1:5439"}
_NAMES = dataset_resolver.from_config(
    CONFIGURATION.parse({"dag_name": "daily", "environment": "dev", "dbt": [_SETTINGS]})
)
# Part of the name of each entry that is never damaged.
_GOOD = "zz_good"
_UNREADABLE = re.compile("nested too deeply|a number is too long|not UTF-8")
_SECTIONS = ("nodes", "sources", "exposures", "metrics", "semantic_models", "saved_queries", "functions")
_SHOP = DATA / "dbt" / "shop_v12"
# Without lineage of their own.
_OTHERS = ("unit_tests", "groups")


class Files(NamedTuple):
    """The bytes of a project's files; `is_entry`: only entries are damaged, and not the good ones."""

    manifest: bytes
    catalog: bytes | None = None
    is_entry: bool = False
    suffix: str = ".json"
    run_results: bytes | None = None
    sources: bytes | None = None


@cache
def _manifests() -> tuple[Mapping[str, Any], ...]:
    made = Project("redshift").source("orders", "id amount").source("plain", "id", complete=False)
    made.source("files", "a", complete=False, external={"location": ADDRESSES[1]})
    made.model(
        "m", "select o.id, sum(o.amount) as total from db.raw.orders o group by 1", "source.raw.orders"
    )
    made.model("n", "select * from db.mart.m join db.raw.plain using (id)", "model.m", "source.raw.plain")
    made.model("e", "select 1 as a", kind="snapshot", config={"materialized": "ephemeral", "tags": ["x"]})
    small = {"metadata": made.metadata, "nodes": made.nodes, "sources": made.sources, "disabled": {}}
    captured = []
    for folder, ids in (
        (
            "redshift_v12",
            ("model.tickit.stg_users", "snapshot.tickit.users_snapshot", "seed.tickit.category_map"),
        ),
        ("duckdb_v9", ("model.tickit.stg_sales", "model.tickit.stg_users")),
    ):
        whole = json.loads((DATA / "dbt" / folder / "manifest.json").read_text())
        nodes = {name: _slim(node) for name, node in whole["nodes"].items() if name in ids}
        parents = {name: whole["parent_map"][name] for name in nodes}
        exposures = {name: _slim(each) for name, each in whole["exposures"].items()}
        captured.append(
            {**whole, "nodes": nodes, "parent_map": parents, "child_map": {}, "exposures": exposures}
        )
        for each in whole["sources"]:
            whole["sources"][each] = _slim(whole["sources"][each])
    return (small, small, small, *captured, _shop())


def _slim(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Without what is never read, which would take most of the damage."""
    left_out = (
        "raw_code",
        "raw_sql",
        "unrendered_config",
        "checksum",
        "docs",
        "fqn",
        "refs",
        "sources",
    )
    return {name: value for name, value in entry.items() if name not in left_out}


@cache
def _good() -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """A source and a model of it, to stand in every manifest."""
    made = Project().source(f"{_GOOD}_source", "id", complete=False)
    made.model(
        f"{_GOOD}_model", f"select id as zz_good_id from db.raw.{_GOOD}_source", f"source.raw.{_GOOD}_source"
    )
    return made.nodes, made.sources


def _catalog() -> dict[str, Any]:
    column = {"name": "id", "type": "integer", "index": 1, "comment": None}
    tables = {
        name: {
            "metadata": {"name": name},
            "columns": {"id": column, "amount": {**column, "name": "amount", "index": 2}},
        }
        for name in ("source.p.raw.orders", "model.p.m")
    }
    version = "https://schemas.getdbt.com/dbt/catalog/v1.json"
    return {"metadata": {"dbt_schema_version": version}, "nodes": tables, "sources": {}, "errors": None}


def _run_results() -> dict[str, Any]:
    step = {"name": "execute", "started_at": "2026-11-22T14:38:33Z", "completed_at": "2026-11-22T14:38:34Z"}
    version = "https://schemas.getdbt.com/dbt/run-results/v6.json"
    return {
        "metadata": {
            "dbt_schema_version": version,
            "generated_at": "2026-11-22T14:38:35Z",
            "invocation_id": "r",
        },
        "args": {"which": "build"},
        "results": [
            {"unique_id": f"model.p.{name}", "status": status, "execution_time": 0.5, "timing": [step]}
            for name, status in (("m", "success"), ("n", "error"), ("e", "skipped"))
        ],
    }


@cache
def _shop() -> Mapping[str, Any]:
    """Some entries of a captured project with tests, a group and a semantic layer."""
    content: dict[str, Any] = json.loads((_SHOP / "manifest.json").read_text("utf-8"))
    wanted = ("stg_orders", "shop.orders", "crm.orders", "revenue", "unknown_customers", "finance", "paid")
    entries = {
        section: {key: entry for key, entry in content[section].items() if any(map(key.__contains__, wanted))}
        for section in (*_SECTIONS, *_OTHERS)
    }
    return {"metadata": content["metadata"], **entries}


def _freshness() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((_SHOP / "sources.json").read_text("utf-8"))
    return found


def _files(rng: random.Random) -> Files:
    manifest = rng.choice(_manifests())
    chance = rng.random()
    if chance < 0.45:
        return Files(encoded(written(rng, _with_damaged_entries(rng, manifest))), is_entry=True)
    if chance < 0.55:
        is_freshness = rng.random() < 0.3
        content = encoded(written(rng, mutated(rng, _freshness() if is_freshness else _run_results())))
        content = damaged(rng, content) if rng.random() < 0.3 else content
        manifest_text = json.dumps(_manifests()[0 if rng.random() < 0.5 else -1]).encode()
        if is_freshness:
            return Files(manifest_text, sources=content)
        return Files(manifest_text, run_results=content)
    if chance < 0.65:
        catalog = encoded(written(rng, mutated(rng, _catalog())))
        return Files(
            json.dumps(_manifests()[0]).encode(), damaged(rng, catalog) if rng.random() < 0.3 else catalog
        )
    content = encoded(written(rng, mutated(rng, manifest)))
    if chance < 0.85:
        return Files(content)
    if chance < 0.97:
        return Files(damaged(rng, content))
    return Files(packed(rng, content), suffix=".json.gz")


def _with_damaged_entries(rng: random.Random, manifest: Mapping[str, Any]) -> dict[str, Any]:
    nodes, sources = _good()
    parts = {name: dict(manifest.get(name) or {}) for name in (*_SECTIONS, *_OTHERS)}
    hurt = rng.choice([name for name, entries in parts.items() if entries])
    for name in rng.sample(sorted(parts[hurt]), 1):
        parts[hurt][name] = mutated(rng, parts[hurt][name])
        if rng.random() < 0.2:
            # What another section has, which reads itself and its own children.
            parts[rng.choice(_SECTIONS)][f"metric.p.{name}"] = parts[hurt][name]
    parts["nodes"] |= nodes
    parts["sources"] |= sources
    return {**manifest, **parts}


def _smaller(files: Files) -> Iterator[Files]:
    if files.suffix == ".json" and not files.is_entry:
        for content in cases.less_text(files.manifest):
            yield files._replace(manifest=content)


@pytest.mark.parametrize("numbers", cases.blocks(4_000, 500), ids=str)
def test_a_project(numbers: range, tmp_path: Path) -> None:
    def read(files: Files) -> list[Element]:
        manifest, catalog = tmp_path / f"manifest{files.suffix}", tmp_path / "catalog.json"
        manifest.write_bytes(files.manifest)
        catalog.write_bytes(files.catalog or b"")
        location = str(catalog) if files.catalog is not None else ""
        results = tmp_path / "run_results.json"
        results.write_bytes(files.run_results or b"")
        ran = (str(results),) if files.run_results is not None else ()
        sources = tmp_path / "sources.json"
        sources.write_bytes(files.sources or b"")
        fresh = str(sources) if files.sources is not None else ""
        project = DbtProject(str(manifest), _SETTINGS["namespace"], location, ran, sources=fresh)
        return list(elements(project))

    @cache
    def good_alone(adapter: str) -> list[str]:
        nodes, sources = _good()
        metadata = {**_manifests()[0]["metadata"], "adapter_type": adapter}
        return _of_good(
            read(Files(json.dumps({"metadata": metadata, "nodes": nodes, "sources": sources}).encode()))
        )

    def check(files: Files) -> None:
        found: list[Element] = []
        try:
            found = read(files)
        except LineageMergeError as error:
            cases.assert_no_secret(error.message)
            broken = error.message
        else:
            cases.assert_records(_NAMES.records(found))
            broken = ""
        if broken:
            # A manifest is only lost as a whole where it is, or where its text cannot be read at all.
            assert not files.is_entry or _UNREADABLE.search(broken), broken
        elif files.is_entry:
            assert len(_of_good(found)) >= len(good_alone("redshift")), _of_good(found)

    cases.run("dbt", numbers, _files, check, _smaller)


def _of_good(found: list[Element]) -> list[str]:
    return [repr(each) for each in found if _GOOD in repr(each) and not isinstance(each, Problem)]
