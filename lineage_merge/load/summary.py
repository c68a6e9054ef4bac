"""The `merge_run` vertex: one for each environment and DAG, about its last merge.

While a load is under way its token stands there (`loading`). A later load of the same DAG puts
its own in place, and the earlier one then takes nothing out any more: the later one has begun to
compare with the graph since, and could miss what goes away behind its back.
"""

import json
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource, __
from gremlin_python.process.traversal import Cardinality, Merge, T
from gremlin_python.statics import long

from lineage_merge.load.connection import Endpoint
from lineage_merge.load.sending import asking
from lineage_merge.merge.outcome import Report
from lineage_merge.model import encode
from lineage_merge.naming import redact

LABEL = "merge_run"
# A property for people; the whole list stands in report.json.
_LONGEST_REPORT = 200_000


@dataclass(frozen=True, slots=True)
class Facts:
    """What a load did, as `merge_run` keeps it."""

    written: int
    retired: int
    report: Report | None = None


@dataclass(frozen=True, slots=True)
class MergeRun:
    """The last merge of a DAG, as the graph tells it; times in ms since 1970."""

    environment: str
    dag_name: str
    last_merged_at: int
    elements_written: int
    elements_retired: int
    report: Report | None

    def as_json(self) -> dict[str, Any]:
        """For scripts."""
        return {
            "environment": self.environment,
            "dag_name": self.dag_name,
            "last_merged_at": self.last_merged_at,
            "elements_written": self.elements_written,
            "elements_retired": self.elements_retired,
            "report": self.report.as_json() if self.report else None,
        }


def run_id(environment: str, dag_name: str) -> str:
    """``dev|tickit_daily|merge_run``."""
    return f"{encode(environment)}|{encode(dag_name)}|{LABEL}"


def is_unfinished(endpoint: Endpoint, environment: str, dag_name: str) -> bool:
    """Whether a load has begun and not ended: it was killed, or is under way."""
    with asking(endpoint) as ask:
        return bool(ask(lambda g: loading(g, run_id(environment, dag_name))))


def begin(endpoint: Endpoint, environment: str, dag_name: str) -> str:
    """Say that a load is under way; returns its token."""
    token = uuid.uuid4().hex
    with asking(endpoint) as ask:
        ask(lambda g: beginning(g, environment, dag_name, token))
    return token


def give_up(endpoint: Endpoint, environment: str, dag_name: str, token: str) -> None:
    """The load ends without having written: as if it had not begun."""
    run = run_id(environment, dag_name)
    with asking(endpoint) as ask:
        ask(lambda g: dropping_unmerged(g, run, token))
        ask(lambda g: dropping_token(g, run, token))


def end(endpoint: Endpoint, environment: str, dag_name: str, token: str, facts: Facts) -> None:
    """Keep what the load did, and take its token away."""
    run = run_id(environment, dag_name)
    values = _values(facts)
    with asking(endpoint) as ask:
        ask(lambda g: ending(g, run, values))
        ask(lambda g: dropping_token(g, run, token))


def last(endpoint: Endpoint, environment: str, dag_name: str) -> MergeRun | None:
    """The last merge of a DAG; None where there was none."""
    with asking(endpoint) as ask:
        found = ask(lambda g: g.V(run_id(environment, dag_name)).value_map())
    held = {key: values[0] for key, values in found[0].items()} if found else {}
    if "last_merged_at" not in held:
        return None
    return MergeRun(
        environment,
        dag_name,
        held["last_merged_at"],
        held.get("elements_written", 0),
        held.get("elements_retired", 0),
        Report.from_json(json.loads(held["report"])) if "report" in held else None,
    )


def loading(g: GraphTraversalSource, run: str) -> GraphTraversal:
    """The token of the load that began last, if it has not ended."""
    return g.V(run).values("loading")


def beginning(g: GraphTraversalSource, environment: str, dag_name: str, token: str) -> GraphTraversal:
    """The vertex with a token."""
    run = run_id(environment, dag_name)
    single = Cardinality.single
    return (
        g.merge_v({T.id: run})
        .option(Merge.on_create, {T.id: run, T.label: LABEL})
        .property(single, "name", dag_name)
        .property(single, "environment", environment)
        .property(Cardinality.set_, "dag_name", dag_name)
        .property(single, "loading", token)
        .count()
    )


def dropping_unmerged(g: GraphTraversalSource, run: str, token: str) -> GraphTraversal:
    """Take the vertex out, if no merge has ended yet."""
    return g.V(run).has("loading", token).not_(__.has("last_merged_at")).drop()


def dropping_token(g: GraphTraversalSource, run: str, token: str) -> GraphTraversal:
    """Take the token away, if it is still there."""
    return g.V(run).has("loading", token).properties("loading").drop()


def ending(g: GraphTraversalSource, run: str, values: Mapping[str, Any]) -> GraphTraversal:
    """The facts of a load."""
    setting = g.V(run)
    for key, value in values.items():
        setting = setting.property(Cardinality.single, key, value)
    return setting.count()


def _values(facts: Facts) -> dict[str, Any]:
    values: dict[str, Any] = {
        "last_merged_at": long(time.time_ns() // 1_000_000),
        "elements_written": long(facts.written),
        "elements_retired": long(facts.retired),
    }
    if facts.report:
        values["documents_read"] = long(sum(facts.report.read.values()))
        values["not_joined"] = long(facts.report.totals.get("not-joined", 0))
        values["report"] = report_text(facts.report)
    return values


def report_text(report: Report) -> str:
    """The report as JSON; where it is long, the longest lists lose their ends (`totals` tells)."""
    shown = report.as_json()
    for problem in shown["problems"]:
        problem["document"], problem["message"] = redact(problem["document"]), redact(problem["message"])
    while True:
        text = json.dumps(shown, ensure_ascii=False)
        if len(text) <= _LONGEST_REPORT or not shown["problems"]:
            return text
        by_kind: dict[str, list[dict[str, str]]] = {}
        for problem in shown["problems"]:
            by_kind.setdefault(problem["kind"], []).append(problem)
        longest = max(by_kind, key=lambda kind: len(json.dumps(by_kind[kind])))
        by_kind[longest] = by_kind[longest][: len(by_kind[longest]) // 2]
        shown["problems"] = [problem for kind in by_kind.values() for problem in kind]
