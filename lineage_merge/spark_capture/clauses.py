"""Conditions, joins and groupings of a captured plan as texts. Pure."""

from collections.abc import Iterator

from lineage_merge.graph_format.captures import Clause
from lineage_merge.infra.redaction import redact_sql
from lineage_merge.sources.spline.columns.documents import PlanColumns
from lineage_merge.sources.spline.columns.expressions import ExpressionTexts

_LIMITS = frozenset({"GlobalLimit", "Tail", "Sample"})
_SETS = frozenset({"Union", "Intersect", "Except"})


def clauses_of(plan: PlanColumns) -> list[Clause]:
    """Return the clauses of a plan, sorted: conditions one by one, without their order."""
    texts = ExpressionTexts(plan)
    return sorted(Clause(kind, redact_sql(text)) for kind, text in _clauses(plan, texts))


def _clauses(plan: PlanColumns, texts: ExpressionTexts) -> Iterator[tuple[str, str]]:
    for operation in plan.bottom_up:
        name = str(plan.operations[operation].get("name"))
        if name == "Filter":
            for each in plan.parameter(operation, "condition"):
                yield from (("filter", texts.text(part)) for part in _conditions(plan, each))
        elif name == "Join":
            kind = str(plan.params(operation).get("joinType") or "").lower()
            on = sorted(
                texts.text(part)
                for each in plan.parameter(operation, "condition")
                for part in _conditions(plan, each)
            )
            yield "join", " ".join((kind, "join", *(["on", " and ".join(on)] if on else []))).strip()
        elif name == "Aggregate":
            grouped = sorted(map(texts.text, plan.parameter(operation, "groupingExpressions")))
            yield "grouping", f"group by {', '.join(grouped)}" if grouped else "group all rows"
        elif name in ("Distinct", "Deduplicate"):
            by = sorted(map(texts.text, plan.parameter(operation, "keys")))
            yield "grouping", f"distinct {', '.join(by)}".strip()
        elif name in _SETS:
            yield "set operation", name.lower()
        elif name in _LIMITS:
            values = [texts.text(each.value) for each in plan.uses.get(operation, ())]
            yield "limit", " ".join((name.removeprefix("Global").lower(), *values))


def _conditions(plan: PlanColumns, expression: str) -> Iterator[str]:
    """Yield the parts of a conjunction."""
    waiting = [expression]
    while waiting:
        each = waiting.pop()
        if each in plan.expressions and plan.class_name(each).rpartition(".")[2] == "And":
            waiting.extend(reversed(plan.arguments.get(each, ())))
        else:
            yield each
