"""Column lineage of a plan in the notation of tests: ``t.a -> x IDENTITY``."""

import json
from collections import defaultdict
from pathlib import Path

from lineage_merge.model.elements import Reference, dot_path
from lineage_merge.sources.spline.columns.documents import PlanColumns
from lineage_merge.sources.spline.columns.lineage import ColumnLineage, column_lineage
from lineage_merge.sources.spline.documents import PLAN_PARTS
from tests.sources.spline.columns.plan_building import PlanBuilder


def read(plan: PlanBuilder) -> ColumnLineage:
    """Return the column lineage of a plan that a test built."""
    return column_lineage(plan.documents())


def listed(text: str) -> set[str]:
    """Expected flows or influences, which a text separates by semicolons."""
    return {each.strip() for each in text.split(";") if each.strip()}


def flows(lineage: ColumnLineage) -> set[str]:
    """Each flow as ``t.a -> x IDENTITY,CONDITIONAL``."""
    return {
        f"{short(each.source)}.{dot_path(each.column)} -> {dot_path(each.target_column)}"
        f" {','.join(kind.name for kind in each.transformations)}"
        for each in lineage.flows
    }


def influences(lineage: ColumnLineage) -> set[str]:
    """Each influence as ``t.a FILTER,JOIN``."""
    return {
        f"{short(each.source)}.{dot_path(each.column)} {','.join(each.kinds)}" for each in lineage.influences
    }


def expressions(lineage: ColumnLineage) -> dict[str, str]:
    """The expression of each target column that has one; all its sources must agree on it."""
    found: dict[str, str] = {}
    for each in lineage.flows:
        if each.expression:
            assert found.setdefault(dot_path(each.target_column), each.expression) == each.expression
    return found


def columns(lineage: ColumnLineage) -> list[str]:
    """The target's columns as ``a int``, by position."""
    assert [each.position for each in lineage.columns] == list(range(len(lineage.columns)))
    return [f"{each.name} {each.data_type}" for each in lineage.columns]


def untraced(lineage: ColumnLineage) -> list[str]:
    """The sources that lost their columns."""
    return [short(each) for each in lineage.untraced]


def short(source: Reference) -> str:
    """The last part of a URI or of a table's name."""
    return source.name.rstrip("/").rpartition("/")[2].rpartition(".")[2]


def captured(folder: Path) -> list[PlanColumns]:
    """The plans of a database that was exported to a folder."""
    documents: defaultdict[str, dict[str, list[dict[str, object]]]] = defaultdict(dict)
    for collection in PLAN_PARTS:
        for each in _lines(folder / f"{collection}.jsonl"):
            plan = str(each.get("_belongsTo", each["_key"])).rpartition("/")[2]
            documents[plan].setdefault(collection, []).append(each)
    headers = {str(each["_key"]): each for each in _lines(folder / "executionPlan.jsonl")}
    return [PlanColumns(header, documents[key]) for key, header in headers.items()]


def target(plan: PlanColumns) -> str:
    """The last part of what a captured plan writes."""
    uri = str(plan.operations[plan.write]["outputSource"])
    return short(Reference("", uri.rpartition(":")[2]))


def _lines(file: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
