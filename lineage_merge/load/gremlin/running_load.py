"""The state of loads of an environment and DAG, on its `merge_run` vertex.

A running load stores its token there (`load_token`). A later load of the same DAG replaces the token, and the
earlier load then deletes nothing more: the later one has already compared with the graph and would not notice
the deletions.

The vertex also stores the state for the next incremental comparison (`state`, see `load.shard_state`) and
marks of loads that wrote to the DAG's elements (`touched`): loads of other DAGs that changed shared vertices,
and other loads of the DAG. A load removes the marks that it found when it started, if it succeeds.
"""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource, __
from gremlin_python.process.traversal import Cardinality, Merge, P, T

from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.load.graph_state import AliasOf, GraphState
from lineage_merge.load.gremlin import upserts
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.element_reads import read_aliases, read_graph_state
from lineage_merge.load.gremlin.executor import open_executor
from lineage_merge.load.merge_run import LABEL, LastLoad, run_id, run_values
from lineage_merge.load.result import LoadResult
from lineage_merge.load.shard_state import RunState
from lineage_merge.merge.report import Report


@dataclass(frozen=True, slots=True)
class StartedLoad:
    """A running load, and the values of the vertex when it started.

    `state`: state of the last load. `own_state`: the state that replaced it. `touched`: marks on the vertex.
    `overlaps`: another load of the DAG has not ended. `edition`: that of the last load (`LastLoad`).
    """

    token: str
    state: RunState
    own_state: str = ""
    earlier_state: str = ""
    touched: tuple[str, ...] = ()
    overlaps: bool = False
    edition: str = ""

    @property
    def is_state_valid(self) -> bool:
        """Return whether the state of the last load is valid for the graph."""
        return self.state.is_usable and not self.touched and not self.overlaps


class LoadTarget(NamedTuple):
    """The graph, environment and DAG of a load, and its state when the load started."""

    endpoint: Endpoint
    environment: str
    dag_name: str
    started_load: StartedLoad

    @property
    def run_id(self) -> str:
        """Return the id of the `merge_run` vertex."""
        return run_id(self.environment, self.dag_name)

    def read_state(self, ids: Rows[str]) -> GraphState:
        """Read the vertices of `ids` and of the DAG, and the DAG's edges."""
        if self._is_graph_empty():
            return GraphState(ids.engine.empty(), ids.engine.empty())
        return read_graph_state(ids, self.endpoint, self.environment, self.dag_name)

    def _is_graph_empty(self) -> bool:
        """Return whether the graph has no vertex but that of the run: then no id of a first load is read."""
        with open_executor(self.endpoint) as execute:
            return not set(execute(lambda g: g.V().limit(2).id_())) - {self.run_id}

    def read_aliases(self, engine: Engine) -> Rows[AliasOf]:
        """Read all aliases of the environment's vertices."""
        return read_aliases(engine, self.endpoint, self.environment)

    def drop_state(self) -> "LoadTarget":
        """Return the target for functions that are sent to workers: the state has a digest per shard."""
        return self._replace(started_load=dry_run_start({}))


def read_run(endpoint: Endpoint, environment: str, dag_name: str) -> dict[str, list[Any]]:
    """Read the values of the vertex; empty if it is missing."""
    run = run_id(environment, dag_name)
    with open_executor(endpoint) as execute:
        values = execute(lambda g: g.V(run).value_map("load_token", "state", "touched"))
    return dict(values[0]) if values else {}


def dry_run_start(properties: Mapping[str, list[Any]]) -> StartedLoad:
    """Return the start of a load that writes nothing."""
    state = RunState.read(properties.get("state", [""])[0])
    return StartedLoad(
        "", state, touched=tuple(properties.get("touched", ())), overlaps="load_token" in properties
    )


def begin(
    endpoint: Endpoint, environment: str, dag_name: str, properties: Mapping[str, list[Any]]
) -> LoadTarget:
    """Store the token of a new load; `properties` as returned by `read_run`."""
    token = uuid.uuid4().hex
    before = dry_run_start(properties)
    with open_executor(endpoint) as execute:
        # Of two loads that start at the same moment, the second finds the mark of the first.
        execute(lambda g: set_load_token(g, environment, dag_name, token))
        run = run_id(environment, dag_name)
        found = execute(lambda g: g.V(run).value_map("touched", "last_merged_at"))
        values = found[0] if found else {}  # it was removed
        touched = tuple(sorted(set(values.get("touched", ())) - {_own_mark(token)}))
        overlaps = before.overlaps or any(mark.startswith(_LOAD_MARK) for mark in touched)
        full = _FULL_AFTER_OVERLAP if overlaps else before.state.full
        own_state = RunState(full=full, load=token).text()
        execute(lambda g: set_state(g, run, token, own_state))
    earlier = properties.get("state", [""])[0]
    edition = _edition(values)
    started_load = StartedLoad(token, before.state, own_state, earlier, touched, overlaps, edition)
    return LoadTarget(endpoint, environment, dag_name, started_load)


def abort(target: LoadTarget) -> None:
    """End a load that has written nothing; restores the vertex."""
    run, started_load = target.run_id, target.started_load
    token = started_load.token
    with open_executor(target.endpoint) as execute:
        execute(lambda g: drop_unmerged(g, run, token))
        if started_load.earlier_state and not started_load.overlaps:
            execute(lambda g: set_state(g, run, token, started_load.earlier_state))
        elif not started_load.overlaps:
            execute(lambda g: drop_state(g, run, token))
        execute(lambda g: drop_marks(g, [_own_mark(token)], run))
        execute(lambda g: drop_load_token(g, run, token))


def end(target: LoadTarget, result: LoadResult, report: Report | None, state: RunState | None) -> str:
    """Store the statistics and state of a load, and remove its token and the marks that it found.

    Without a `state`, or if another load of the DAG has started since, the next load compares in full.
    Returns the edition that the load leaves (`LastLoad`); "" if another load has started since.
    """
    run, started_load, values = target.run_id, target.started_load, _values(target, result, report)
    full = RunState.read(started_load.own_state).full
    new_state = state if state and full <= 1 else RunState(full=max(0, full - 1))
    marks = [*started_load.touched, _own_mark(started_load.token)]
    with open_executor(target.endpoint) as execute:
        execute(lambda g: set_properties(g, run, values))
        is_only_load = execute(lambda g: replace_state(g, run, started_load, new_state.text()))[0]
        if not is_only_load:
            # This load wrote after the other one had compared: the state of neither is valid.
            invalid = RunState(full=_FULL_AFTER_OVERLAP).text()
            execute(lambda g: set_properties(g, run, {"state": invalid}))
        execute.run_in_batches(partial(drop_marks, run=run), marks)
        execute(lambda g: drop_load_token(g, run, started_load.token))
    return str(values["last_merged_at"]) if is_only_load else ""


def has_other_dags(target: LoadTarget) -> bool:
    """Return whether any other DAG of the environment was ever loaded: only loads write tags."""
    with open_executor(target.endpoint) as execute:
        others = execute(partial(other_runs, environment=target.environment, dag_name=target.dag_name))
    return bool(others)


def other_runs(g: GraphTraversalSource, environment: str, dag_name: str) -> GraphTraversal:
    """Return the id of the vertex of another DAG of the environment."""
    runs = g.V().has_label(LABEL).has("environment", environment)
    return runs.not_(__.has("dag_name", dag_name)).limit(1).id_()


def mark_dags(target: LoadTarget, dag_names: Iterable[str]) -> None:
    """Mark the `merge_run` vertices of other DAGs whose shared vertices this load changed."""
    runs = [run_id(target.environment, dag_name) for dag_name in sorted(set(dag_names))]
    with open_executor(target.endpoint) as execute:
        execute.run_in_batches(partial(add_mark, value=f"dag {target.started_load.token}"), runs)


def read_last_load(endpoint: Endpoint, environment: str, dag_name: str) -> LastLoad:
    """Read when the last load of a DAG ended."""
    run = run_id(environment, dag_name)
    with open_executor(endpoint) as execute:
        runs = execute(lambda g: g.V(run).value_map("last_merged_at", "load_token", "touched"))
    values = runs[0] if runs else {}
    merged_at = int(values.get("last_merged_at", [0])[0])
    return LastLoad(merged_at, "load_token" in values, bool(values.get("touched")), _edition(values))


def _edition(values: Mapping[str, list[Any]]) -> str:
    return str(values.get("last_merged_at", [""])[0])


_LOAD_MARK = "load "
_FULL_AFTER_OVERLAP = 2


def _own_mark(token: str) -> str:
    return f"{_LOAD_MARK}{token}"


def set_load_token(g: GraphTraversalSource, environment: str, dag_name: str, token: str) -> GraphTraversal:
    """Create or update the vertex with the token and mark of a load."""
    run = run_id(environment, dag_name)
    single = Cardinality.single
    return (
        g.merge_v({T.id: run})
        .option(Merge.on_create, {T.id: run, T.label: LABEL})
        .property(single, "name", dag_name)
        .property(single, "environment", environment)
        .property(Cardinality.set_, "dag_name", dag_name)
        .property(single, "load_token", token)
        .property(Cardinality.set_, "touched", _own_mark(token))
        .count()
    )


def set_state(g: GraphTraversalSource, run: str, token: str, state: str) -> GraphTraversal:
    """Set the state, if no other load has started."""
    return g.V(run).has("load_token", token).property(Cardinality.single, "state", state).count()


def drop_state(g: GraphTraversalSource, run: str, token: str) -> GraphTraversal:
    """Drop the state, if no other load has started."""
    return g.V(run).has("load_token", token).properties("state").drop()


def replace_state(g: GraphTraversalSource, run: str, started_load: StartedLoad, state: str) -> GraphTraversal:
    """Set the final state of a load; the count is 0 if another load has written since."""
    own = g.V(run).has("load_token", started_load.token).has("state", P.within(started_load.own_state, state))
    return own.property(Cardinality.single, "state", state).count()


def add_mark(g: GraphTraversalSource, runs: list[str], value: str) -> GraphTraversal:
    """Add a mark to the vertices that exist."""
    return g.V(*runs).property(Cardinality.set_, "touched", value).count()


def drop_marks(g: GraphTraversalSource, marks: list[str], run: str) -> GraphTraversal:
    """Drop marks."""
    return g.V(run).properties("touched").has_value(P.within(marks)).drop()


def drop_unmerged(g: GraphTraversalSource, run: str, token: str) -> GraphTraversal:
    """Drop the vertex, if no merge has ended yet."""
    return g.V(run).has("load_token", token).not_(__.has("last_merged_at")).drop()


def drop_load_token(g: GraphTraversalSource, run: str, token: str) -> GraphTraversal:
    """Drop the token, if it is still this one."""
    return g.V(run).has("load_token", token).properties("load_token").drop()


def set_properties(g: GraphTraversalSource, run: str, values: Mapping[str, Any]) -> GraphTraversal:
    """Set properties of the vertex."""
    traversal = g.V(run)
    for key, value in values.items():
        traversal = traversal.property(Cardinality.single, key, value)
    return traversal.count()


def _values(target: LoadTarget, result: LoadResult, report: Report | None) -> dict[str, Any]:
    traffic = target.endpoint.traffic
    requests, read = (traffic.requests.value, traffic.read.value) if traffic else (0, 0)
    return upserts.convert_types(run_values(result, report, requests=requests, elements_read=read))
