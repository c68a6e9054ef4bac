"""Review of a pull request that changes one model of a large dbt project, with the graph in a folder.

    python benchmarks/review.py --models 5000

1. `full`: both manifests are validated and translated completely, as merges do, and the whole graph is read.
2. `changed-only`: the command `lineage-merge review`, which validates, translates and reads what changed, its
   descendants and what those read.

Each is a process of its own, in turns; both give the same findings, which is checked. CPU seconds are those
of the process (user and system). The graph is that of a merge of the base: Parquet files, as a build writes
them. The manifests have the fields that dbt 1.9 writes, with two tests per model. Bytecode is cached, as
after an installation, by a run that is not measured.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks import options, results
from benchmarks.results import Figure
from lineage_merge.graph_format.arrow import arrow_schema, write_parquet
from lineage_merge.graph_format.schema import edge_ddl, node_ddl
from lineage_merge.infra.arrow_tables import table_of_rows
from lineage_merge.merge import join
from lineage_merge.merge.dataset_resolver import from_config
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.dbt.reader import elements

MOST_SECONDS = 5.0
MOST_RATIO = 0.2
COLUMNS = 10
PARENTS = 2
# Models below the sources before others read them.
LAYER = 10
NAMESPACE = "redshift://warehouse.eu-west-1:5439"
SETTINGS = {"dag_name": "daily", "environment": "prod"}
Json = dict[str, Any]


def model(number: int) -> Json:
    """Return a model of several columns, which reads the two models before in its layer."""
    name = f"model_{number:05}"
    # A model has few descendants, not all later models.
    first = number // LAYER * LAYER
    parents = [f"model.shop.model_{each:05}" for each in range(max(first, number - PARENTS), number)]
    sources = [] if parents else [f"source.shop.raw.source_{number // LAYER:05}"]
    if first and number == first and first % 500 == 0:
        parents = ["model.shop.model_00000"]
    tables = [_relation(each) for each in (*sources, *parents)]
    columns = ",\n".join(
        f"    coalesce(a.column_{at}, 0) * {number % 7 + 1} as column_{at}" for at in range(1, COLUMNS)
    )
    joins = "".join(f"\nleft join {table} as b on a.column_0 = b.column_0" for table in tables[1:])
    sql = (
        f"select\n    a.column_0,\n{columns}\nfrom {tables[0]} as a{joins}\nwhere a.column_1 <> {number % 3}"
    )
    return {
        "database": "dev",
        "schema": f"schema_{number % 20}",
        "name": name,
        "resource_type": "model",
        "package_name": "shop",
        "path": f"marts/{name}.sql",
        "original_file_path": f"models/marts/{name}.sql",
        "unique_id": f"model.shop.{name}",
        "fqn": ["shop", "marts", name],
        "alias": name,
        "checksum": {"name": "sha256", "checksum": f"{number:064x}"},
        "config": _config("table"),
        "tags": ["daily"],
        "description": f"The facts of {name}, one row per key. " * 4,
        "columns": {
            f"column_{at}": {
                "name": f"column_{at}",
                "description": f"Column {at} of {name}, with what its values are used for.",
                "meta": {},
                "data_type": None,
                "constraints": [],
                "quote": None,
                "config": {"meta": {}, "tags": []},
                "tags": [],
                "granularity": None,
                "doc_blocks": [],
            }
            for at in range(COLUMNS)
        },
        "meta": {"owner": f"team_{number % 9}@example.com"},
        "group": None,
        "docs": {"show": True, "node_color": None},
        "patch_path": "shop://models/models.yml",
        "build_path": None,
        "unrendered_config": {"materialized": "table", "tags": ["daily"]},
        "created_at": time.time(),
        "relation_name": _relation(f"model.shop.{name}"),
        "raw_code": sql,
        "language": "sql",
        "refs": [{"name": each.rpartition(".")[2], "package": None, "version": None} for each in parents],
        "sources": [["raw", each.rpartition(".")[2]] for each in sources],
        "metrics": [],
        "depends_on": {"macros": ["macro.dbt.is_incremental"], "nodes": [*sources, *parents]},
        "compiled_path": f"target/compiled/shop/models/marts/{name}.sql",
        "compiled": True,
        "compiled_code": sql,
        "extra_ctes_injected": True,
        "extra_ctes": [],
        "contract": {"enforced": False, "alias_types": True, "checksum": None},
        "access": "protected",
        "constraints": [],
        "version": None,
        "latest_version": None,
        "deprecation_date": None,
        "primary_key": ["column_0"],
        "time_spine": None,
    }


def _relation(unique_id: str) -> str:
    name = unique_id.rpartition(".")[2]
    schema = "raw" if unique_id.startswith("source.") else f"schema_{int(name[-5:]) % 20}"
    return f'"dev"."{schema}"."{name}"'


def _config(materialized: str) -> Json:
    unset = ("alias", "schema", "database", "group", "full_refresh", "unique_key", "batch_size", "begin")
    return {
        "enabled": True,
        **dict.fromkeys(unset),
        "tags": ["daily"],
        "meta": {},
        "materialized": materialized,
        "incremental_strategy": None,
        "persist_docs": {},
        "post-hook": [],
        "pre-hook": [],
        "quoting": {},
        "column_types": {},
        "on_schema_change": "ignore",
        "on_configuration_change": "apply",
        "grants": {},
        "packages": [],
        "docs": {"show": True, "node_color": None},
        "contract": {"enforced": False, "alias_types": True},
        "access": "protected",
    }


def source(number: int) -> Json:
    """Return a source."""
    name = f"source_{number:05}"
    return {
        "database": "dev",
        "schema": "raw",
        "name": name,
        "resource_type": "source",
        "package_name": "shop",
        "path": "models/sources.yml",
        "original_file_path": "models/sources.yml",
        "unique_id": f"source.shop.raw.{name}",
        "fqn": ["shop", "raw", name],
        "source_name": "raw",
        "identifier": name,
        "columns": {},
        "config": {"enabled": True},
        "tags": [],
        "relation_name": _relation(f"source.shop.raw.{name}"),
        "created_at": time.time(),
    }


def test(number: int, kind: str) -> Json:
    """Return a test of a model's first column."""
    checked = f"model_{number:05}"
    name = f"{kind}_{checked}_column_0"
    return {
        "database": "dev",
        "schema": "dbt_test__audit",
        "name": name,
        "resource_type": "test",
        "package_name": "shop",
        "path": f"{name}.sql",
        "original_file_path": "models/models.yml",
        "unique_id": f"test.shop.{name}.{number:010x}",
        "fqn": ["shop", name],
        "alias": name,
        "config": _config("test"),
        "columns": {},
        "meta": {},
        "created_at": time.time(),
        "raw_code": "{{ test_" + kind + "(**_dbt_generic_test_kwargs) }}",
        "language": "sql",
        "compiled_code": f"select column_0 from {_relation(checked)} where column_0 is null",
        "depends_on": {"macros": [f"macro.dbt.test_{kind}"], "nodes": [f"model.shop.{checked}"]},
        "test_metadata": {"name": kind, "kwargs": {"column_name": "column_0"}, "namespace": None},
        "column_name": "column_0",
        "attached_node": f"model.shop.{checked}",
    }


def manifest(count: int) -> Json:
    """Return a manifest of `count` models."""
    entries = [model(number) for number in range(count)]
    entries += [test(number, kind) for number in range(count) for kind in ("unique", "not_null")]
    sources = [source(number) for number in range(count // LAYER + 1)]
    nodes = {each["unique_id"]: each for each in entries}
    parents = {each["unique_id"]: each["depends_on"]["nodes"] for each in entries}
    return {
        "metadata": {
            "dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json",
            "dbt_version": "1.9.4",
            "generated_at": "2026-01-01T00:00:00Z",
            "project_name": "shop",
            "adapter_type": "redshift",
        },
        "nodes": nodes,
        "sources": {each["unique_id"]: each for each in sources},
        "macros": {
            f"macro.dbt.macro_{at}": {"name": f"macro_{at}", "macro_sql": "select 1\n" * 40}
            for at in range(800)
        },
        "exposures": {},
        "metrics": {},
        "parent_map": parents,
        "child_map": {},
    }


def changed(document: Json) -> Json:
    """Return the manifest of the pull request: a model loses a column; each entry has another parse time."""
    head: Json = json.loads(json.dumps(document))
    for entry in head["nodes"].values():
        entry["created_at"] += 60.0
    entry = head["nodes"]["model.shop.model_00000"]
    for key in ("raw_code", "compiled_code"):
        entry[key] = entry[key].replace(f" as column_{COLUMNS - 1}", f" as new_{COLUMNS - 1}")
    return head


def write_graph(folder: Path, file: Path) -> int:
    """Write the graph of a merge of a manifest as a build does; return the number of its elements."""
    config = CONFIGURATION.parse({**SETTINGS, "dbt": [{"manifest": str(file), "namespace": NAMESPACE}]})
    found = from_config(config).records(elements(config.sources["dbt"][0]))
    graph = join.merge_locally(found, config.environment, config.dag_name)
    for kind, rows, ddl in (("nodes", graph.nodes, node_ddl()), ("edges", graph.edges, edge_ddl())):
        (folder / kind).mkdir(parents=True)
        write_parquet(
            folder / kind / "part-00000.parquet",
            table_of_rows(rows, arrow_schema(ddl)),
            arrow_schema(ddl),
            "snappy",
            100_000,
        )
    return len(graph.nodes) + len(graph.edges)


def run(command: list[str], bytecode: Path) -> tuple[float, float, Any]:
    """Run a command; return its seconds, its CPU seconds, and its JSON."""
    with tempfile.TemporaryFile() as out:
        unset = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        environment = {**unset, "PYTHONPYCACHEPREFIX": str(bytecode)}
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL, env=environment)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"exit code {process.returncode}: {' '.join(command)}")
        out.seek(0)
        return seconds, used.ru_utime + used.ru_stime, json.load(out)


def full(words: list[str]) -> None:
    """Run the command, with all entries and the whole graph."""
    from lineage_merge.cli import main as command
    from lineage_merge.review import assessment, dbt_files, dbt_versions

    def everything(before: Any, after: Any) -> dbt_versions.ChangedEntries:
        entries = dbt_versions.find_changed_entries(before, after)
        return replace(entries, relevant={*before.nodes, *after.nodes})

    with (
        patch.object(assessment, "changed_entries", everything),
        patch.object(dbt_files, "reduce_documents", lambda _base, _head: None),
    ):
        command(words, prog_name="lineage-merge")


def measure(work: Path, words: list[str], rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Run both in turns."""
    started = {
        "full": [sys.executable, str(Path(__file__)), "--full", *words],
        "changed-only": [sys.executable, "-m", "lineage_merge", *words],
    }
    bytecode = work / "bytecode"
    run(started["full"], bytecode)
    run(started["changed-only"], bytecode)
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in started}
    for _ in range(rounds):
        answers = []
        for name, command in started.items():
            seconds, cpu, answer = run(command, bytecode)
            taken[name].append((seconds, cpu))
            answers.append(answer)
            print(f"  {name:12} {seconds:6.2f} s, CPU {cpu:6.2f} s", file=sys.stderr)
        if answers[0]["findings"] != answers[1]["findings"] or not answers[0]["findings"]:
            raise SystemExit("the findings differ")
    return taken


def figures(taken: Mapping[str, list[tuple[float, float]]], case: str) -> Iterator[Figure]:
    """Print and return the results."""
    seconds = {name: statistics.median(each for each, _ in rounds) for name, rounds in taken.items()}
    cpu = {name: statistics.median(each for _, each in rounds) for name, rounds in taken.items()}
    for name, each in seconds.items():
        print(f"{name:12} {each:6.2f} s, CPU {cpu[name]:6.2f} s")
    ratio = cpu["changed-only"] / cpu["full"]
    print(f"changed-only / full {ratio:.2f}")
    yield Figure(case, "full", round(seconds["full"], 2), "s")
    yield Figure(case, "changed-only", round(seconds["changed-only"], 2), "s", at_most=MOST_SECONDS)
    yield Figure(case, "changed-only, CPU", round(cpu["changed-only"], 2), "s")
    yield Figure(case, "changed-only / full, CPU", round(ratio, 2), "times", at_most=MOST_RATIO)


def main() -> None:
    if sys.argv[1:2] == ["--full"]:
        full(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description="Seconds of a review of one changed model")
    parser.add_argument("--models", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="folder for the files, to run it again")
    options.add_to(parser, smallest={"models": 20, "rounds": 1})
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = arguments.keep or Path(temporary)
        work.mkdir(exist_ok=True)
        base, head, folder = work / "base.json", work / "head.json", work / "graph"
        if not folder.exists():
            document = manifest(arguments.models)
            base.write_text(json.dumps(document))
            head.write_text(json.dumps(changed(document)))
            print(f"{write_graph(folder, base):,} elements, manifests of {base.stat().st_size >> 20} MiB")
        words = ["review", "--base", str(base), "--head", str(head), "--namespace", NAMESPACE]
        words += [
            "--folder",
            str(folder),
            "--environment",
            "prod",
            "--dag",
            "daily",
            "--fail-on",
            "none",
            "--json",
        ]
        found = [*figures(measure(work, words, arguments.rounds), f"{arguments.models:,} models")]
    results.append(arguments.results, "review", found)


if __name__ == "__main__":
    main()
