"""The `merge_run` vertex: one for each environment and DAG, about its last merge.

While a load is under way it has its token (`loading`). A later load of the same DAG replaces it with
its own, and the earlier one then deletes nothing any more: the later one has begun to
compare with the graph since, and could miss what is deleted meanwhile.

It also has what the next load must know to compare only what differs (`state`, see `load.shard_digests`), and
who wrote to what the DAG has (`touched`): another DAG that changed shared vertices, or another load of the
DAG itself. What a load finds there when it begins, it removes when it ends well.
"""

import json
import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource, __
from gremlin_python.process.traversal import Cardinality, Merge, P, T
from gremlin_python.statics import long

from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.executor import by_request, open_executor
from lineage_merge.load.shard_digests import RunState
from lineage_merge.merge.report import Report
from lineage_merge.model.elements import encode
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
    requests: int = 0
    elements_read: int = 0


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


@dataclass(frozen=True, slots=True)
class Begun:
    """A load that is under way, and what it found on the vertex.

    `state`: what the last load left; `own_state` what this one put in its place. `touched`: the marks that
    were there. `overlaps`: another load of the DAG has not ended.
    """

    token: str
    state: RunState
    own_state: str = ""
    earlier_state: str = ""
    touched: tuple[str, ...] = ()
    overlaps: bool = False

    @property
    def may_trust(self) -> bool:
        """Whether the graph has what the last load left, as far as is known."""
        return self.state.is_known and not self.touched and not self.overlaps


def read_run(endpoint: Endpoint, environment: str, dag_name: str) -> dict[str, list[Any]]:
    """Return the values of the vertex; none where there is none."""
    run = run_id(environment, dag_name)
    with open_executor(endpoint) as ask:
        found = ask(lambda g: g.V(run).value_map("loading", "state", "touched"))
    return dict(found[0]) if found else {}


def seen(held: Mapping[str, list[Any]]) -> Begun:
    """Return what a load that writes nothing finds on the vertex."""
    state = RunState.read(held.get("state", [""])[0])
    return Begun("", state, touched=tuple(held.get("touched", ())), overlaps="loading" in held)


def begin(endpoint: Endpoint, environment: str, dag_name: str, held: Mapping[str, list[Any]]) -> Begun:
    """Say that a load is under way; `held` is what `read_run` returned."""
    token = uuid.uuid4().hex
    before = seen(held)
    with open_executor(endpoint) as ask:
        # A second load that begins at the same moment finds the mark of the first.
        ask(lambda g: beginning(g, environment, dag_name, token))
        marks = ask(lambda g: g.V(run_id(environment, dag_name)).values("touched"))
        touched = tuple(sorted(set(marks) - {_own_mark(token)}))
        overlaps = before.overlaps or any(mark.startswith(_LOAD) for mark in touched)
        full = _FULL_AFTER_OVERLAP if overlaps else before.state.full
        own_state = RunState(full=full, load=token).text()
        ask(lambda g: setting_state(g, run_id(environment, dag_name), token, own_state))
    earlier = held.get("state", [""])[0]
    return Begun(token, before.state, own_state, earlier, touched, overlaps)


def give_up(endpoint: Endpoint, environment: str, dag_name: str, begun: Begun) -> None:
    """The load ends without having written: as if it had not begun."""
    run, token = run_id(environment, dag_name), begun.token
    with open_executor(endpoint) as ask:
        ask(lambda g: dropping_unmerged(g, run, token))
        if begun.earlier_state and not begun.overlaps:
            ask(lambda g: setting_state(g, run, token, begun.earlier_state))
        elif not begun.overlaps:
            ask(lambda g: dropping_state(g, run, token))
        ask(lambda g: dropping_marks(g, run, [_own_mark(token)]))
        ask(lambda g: dropping_token(g, run, token))


def end(
    endpoint: Endpoint, environment: str, dag_name: str, begun: Begun, facts: Facts, state: RunState | None
) -> None:
    """Record what the load did and the state that it leaves, and remove its token and the marks it found.

    Without a `state`, and where another load of the DAG has begun meanwhile, the next load compares in full.
    """
    run = run_id(environment, dag_name)
    values = _values(facts)
    full = RunState.read(begun.own_state).full
    left = state if state and full <= 1 else RunState(full=max(0, full - 1))
    marks = [*begun.touched, _own_mark(begun.token)]
    with open_executor(endpoint) as ask:
        ask(lambda g: ending(g, run, values))
        alone = ask(lambda g: settling(g, run, begun, left.text()))[0]
        if not alone:
            # This load wrote after the other one compared: neither that one nor the next may trust its state.
            distrust = RunState(full=_FULL_AFTER_OVERLAP).text()
            ask(lambda g: ending(g, run, {"state": distrust}))
        for some in by_request(marks):
            ask(partial(dropping_marks, run=run, marks=some))
        ask(lambda g: dropping_token(g, run, begun.token))


def mark(endpoint: Endpoint, environment: str, dag_names: Iterable[str], begun: Begun) -> None:
    """Leave a mark on the vertices of other DAGs of which this load changed shared vertices."""
    runs = [run_id(environment, dag_name) for dag_name in sorted(set(dag_names))]
    with open_executor(endpoint) as ask:
        for some in by_request(runs):
            ask(partial(marking, runs=some, value=f"dag {begun.token}"))


def last(endpoint: Endpoint, environment: str, dag_name: str) -> MergeRun | None:
    """The last merge of a DAG; None where there was none."""
    with open_executor(endpoint) as ask:
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


_LOAD = "load "
_FULL_AFTER_OVERLAP = 2


def _own_mark(token: str) -> str:
    return f"{_LOAD}{token}"


def beginning(g: GraphTraversalSource, environment: str, dag_name: str, token: str) -> GraphTraversal:
    """The vertex with a token and a mark of the load."""
    run = run_id(environment, dag_name)
    single = Cardinality.single
    return (
        g.merge_v({T.id: run})
        .option(Merge.on_create, {T.id: run, T.label: LABEL})
        .property(single, "name", dag_name)
        .property(single, "environment", environment)
        .property(Cardinality.set_, "dag_name", dag_name)
        .property(single, "loading", token)
        .property(Cardinality.set_, "touched", _own_mark(token))
        .count()
    )


def setting_state(g: GraphTraversalSource, run: str, token: str, state: str) -> GraphTraversal:
    """Replace the state, if no other load has begun."""
    return g.V(run).has("loading", token).property(Cardinality.single, "state", state).count()


def dropping_state(g: GraphTraversalSource, run: str, token: str) -> GraphTraversal:
    """Remove the state, if no other load has begun."""
    return g.V(run).has("loading", token).properties("state").drop()


def settling(g: GraphTraversalSource, run: str, begun: Begun, state: str) -> GraphTraversal:
    """Set the state that the load leaves; nothing is counted where another load wrote meanwhile."""
    own = g.V(run).has("loading", begun.token).has("state", P.within(begun.own_state, state))
    return own.property(Cardinality.single, "state", state).count()


def marking(g: GraphTraversalSource, runs: list[str], value: str) -> GraphTraversal:
    """Leave a mark on vertices, as far as there are such."""
    return g.V(*runs).property(Cardinality.set_, "touched", value).count()


def dropping_marks(g: GraphTraversalSource, run: str, marks: list[str]) -> GraphTraversal:
    """Remove marks."""
    return g.V(run).properties("touched").has_value(P.within(marks)).drop()


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
        "requests": long(facts.requests),
        "elements_read": long(facts.elements_read),
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
