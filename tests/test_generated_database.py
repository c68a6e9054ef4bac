"""What benchmarks are fed with: whole, varied, the same each time, and read as it was meant."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.generated.export import write
from benchmarks.generated.landscape import NAMESPACE, WAREHOUSE, Landscape, project
from benchmarks.generated.manifest import manifest
from benchmarks.generated.pipeline import At, Dataset, Made, Pipeline, Plan, Run
from benchmarks.generated.spline import COLLECTIONS, documents, plan_documents
from benchmarks.generated.templates import Template
from lineage_merge.model.elements import FeedsColumn, Influences
from lineage_merge.sources.dbt.manifest import read_manifest
from lineage_merge.sources.spline.database_state import EVERYTHING
from lineage_merge.sources.spline.documents import assemble
from lineage_merge.sources.spline.translator import translate

ROOT = Path(__file__).parents[1]


def test_every_column_of_a_plan_is_read_as_it_was_described() -> None:
    left = Dataset("s3://raw/a", ("id", "x", "y"))
    right = Dataset("s3://raw/b", ("id", "z"))
    plan = Plan(
        "app",
        (left, right),
        "s3://lake/t",
        (
            Made("id", "identity", (At(0, "id"),)),
            Made("renamed", "identity", (At(0, "x"),)),
            Made("both", "transformation", (At(0, "y"), At(1, "z"))),
            Made("total", "aggregation", (At(0, "x"),)),
            Made("known", "conditional", (At(1, "z"),)),
        ),
        filters=(At(0, "x"),),
        joins=((At(0, "id"), At(1, "id")),),
        sorts=(At(1, "z"),),
        steps=2,
    )
    found = documents(Pipeline((Run(plan, "r1", 5),)))
    assert tuple(found) == COLLECTIONS
    read, rejected = assemble(found["executionPlan"][0]["_key"], found, EVERYTHING)
    assert rejected == []
    elements = list(translate(read))
    assert {
        (each.source.name[-1], each.source_column, each.target_column, *each.transformations)
        for each in elements
        if isinstance(each, FeedsColumn)
    } == {
        ("a", "id", "id", "IDENTITY"),
        ("a", "x", "renamed", "IDENTITY"),
        ("a", "y", "both", "TRANSFORMATION"),
        ("b", "z", "both", "TRANSFORMATION"),
        ("a", "x", "total", "AGGREGATION"),
        ("b", "z", "known", "CONDITIONAL"),
    }
    assert {
        (each.source.name[-1], each.source_column, *each.transformations)
        for each in elements
        if isinstance(each, Influences)
    } == {
        ("a", "id", "GROUP_BY", "JOIN"),
        ("b", "id", "JOIN"),
        ("a", "x", "FILTER", "GROUP_BY"),
        ("a", "y", "GROUP_BY"),
        ("b", "z", "GROUP_BY", "SORT"),
    }


@pytest.mark.parametrize("target", ["s3://lake/t", f"{WAREHOUSE}:sales.t"])
def test_a_filled_template_is_the_plan_itself(target: str) -> None:
    landscape = Landscape()
    for shape in (landscape.shapes[399], landscape.shapes[150], landscape.shapes[60]):
        uris = tuple(f"s3://in/{place}" for place in range(len(shape.reads)))
        plan = shape.plan("app", uris, target, version=17)
        template = Template(shape, f"{WAREHOUSE}:x.y" if target.startswith("jdbc:") else "s3://x/y")
        texts = template.filled(plan, 41, "0f7d3c1e-7f9b-4f0e-9c39-5f2f1a4be611", 1_800_000_000_000)
        found = {
            name: [json.loads(line) for line in text.splitlines()]
            for name, text in zip(template.collections, texts, strict=True)
        }
        assert found == plan_documents(plan, 41, "0f7d3c1e-7f9b-4f0e-9c39-5f2f1a4be611", 1_800_000_000_000)


def test_plans_are_varied_and_keys_distinct(tmp_path: Path) -> None:
    content = write(tmp_path, plans=150, models=40)
    assert content.plans == 150
    assert content.models == 40
    assert min(content.operations) >= 5
    assert max(content.operations) <= 200
    assert len(set(content.operations)) > 12
    assert 0 < content.failed < content.runs / 4
    files = {file.stem: file.read_text().splitlines() for file in (tmp_path / "spline").iterdir()}
    assert set(files) == set(COLLECTIONS)
    keys = {name: [json.loads(line)["_key"] for line in lines] for name, lines in files.items()}
    assert {name: len(set(found)) for name, found in keys.items()} == {
        name: len(found) for name, found in keys.items()
    }
    assert content.documents == sum(map(len, files.values())) - 2
    runs = Counter(json.loads(line)["planKey"] for line in files["progress"])
    assert set(runs) == set(keys["executionPlan"])
    assert max(runs.values()) > 10
    assert Counter(runs.values())[1] > 10


def test_a_project_reads_what_spark_writes_into_the_warehouse() -> None:
    landscape = Landscape()
    written = {each.run.plan.target for each in landscape.runs(400)}
    made = project(landscape.tables, 60)
    assert len(made.models) == 60
    manifest_text = json.dumps(manifest(made))
    read, problems = read_manifest("manifest.json", manifest_text, with_columns=True)
    assert problems == []
    sources = [each for each in read.nodes.values() if each.kind == "source"]
    assert sources
    assert {f"{WAREHOUSE}:{each.schema}.{each.identifier}" for each in sources} <= written
    assert NAMESPACE.endswith(":5439")


def test_the_same_seed_gives_the_same_bytes_in_another_process(tmp_path: Path) -> None:
    def made(name: str, seed: int, hashing: str) -> dict[str, bytes]:
        arguments = ["--plans", "30", "--models", "5", "--seed", str(seed), "--to", str(tmp_path / name)]
        subprocess.run(
            [sys.executable, "-m", "benchmarks.generated", *arguments],
            cwd=ROOT,
            check=True,
            capture_output=True,
            env={"PYTHONHASHSEED": hashing},
        )
        files = sorted(file for file in (tmp_path / name).rglob("*") if file.is_file())
        return {str(file.relative_to(tmp_path / name)): file.read_bytes() for file in files}

    one = made("one", 1, "1")
    assert made("again", 1, "2") == one
    assert made("other", 2, "1") != one
