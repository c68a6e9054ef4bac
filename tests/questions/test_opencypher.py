"""The openCypher queries of docs/ and of the notebook give the answers of the Gremlin queries beside them.

Neo4j answers them, from our Neptune CSV of two graphs: the sample, and the sample with what it lacks (several
values of a set, a second DAG, a cycle, a second environment, failures). Of a set, openCypher in Neptune sees
one value, "arbitrarily chosen". So Neo4j gets the second graph twice, with the smallest values and with the
greatest, and an answer may not depend on the choice unless the page says so.
"""

import fcntl
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from gremlin_python.driver.client import Client
from gremlin_python.driver.driver_remote_connection import DriverRemoteConnection
from gremlin_python.process.graph_traversal import GraphTraversalSource
from neo4j import Driver
from neo4j.graph import Node, Relationship

from lineage_merge.graph_format.schema import SETS
from lineage_merge.infra.traversal_source import source
from lineage_merge.load.gremlin.connection import Endpoint, open_client
from tests.command_line import in_process
from tests.gremlin_text import answers_in_the_grammar
from tests.neo4j_server import ChooseValue, csv_records, neo4j_server, put_records
from tests.neptune_reading import Record, Value, put
from tests.notebook.answers import expected, rows
from tests.notebook.cells import NOTEBOOK, OPENCYPHER_NOTEBOOK, queries
from tests.opencypher_text import undocumented
from tests.questions_page import EVERYTHING, FOUND, NUMBERED, PAGE, as_written
from tests.sample_graph import plain

GRAPH_PAGE = PAGE.with_name("graph.md")


def _blocks(language: str) -> dict[str, str]:
    (example,) = re.findall(rf"^```{language}\n(.*?)^```$", GRAPH_PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return {"graph.md": example.partition("\n")[2]}


CELLS = queries(NOTEBOOK)
GREMLIN = {name: question.gremlin for name, question in FOUND.items()} | CELLS | _blocks("gremlin")
OPENCYPHER = (
    {name: question.opencypher for name, question in FOUND.items()}
    | queries(OPENCYPHER_NOTEBOOK)
    | _blocks("cypher")
)

Graph = tuple[list[Record], list[Record]]  # vertices and edges
# What one graph answers to each query, and the answers by graph.
Answers = dict[str, list[Any]]
SAMPLE, GREMLIN_VARIED, SMALLEST, GREATEST, TWO_LABELS = (
    "sample",
    "varied, Gremlin",
    "varied, smallest values",
    "varied, greatest values",
    "two labels",
)
_VARIED = {SMALLEST: min, GREATEST: max}


@pytest.fixture(scope="session")
def answers(
    tickit_url: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Answers]:
    """All answers, by graph: Neo4j is started once for all test processes."""
    shared = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):
        shared = shared.parent
    file = shared / "opencypher-answers.json"
    with file.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            folder = tmp_path_factory.mktemp("neo4j")
            target = ("--to", "neptune-csv", "--out", folder / "csv")
            outcome = in_process("export", *target, "--gremlin-endpoint", tickit_url)
            assert outcome.code == 0, outcome
            graph = [csv_records(folder / "csv", kind) for kind in ("vertices", "edges")]
            found = _answers_of_neo4j(folder, *graph)
            found[GREMLIN_VARIED] = _answers_of_gremlin(request.getfixturevalue("gremlin_url"), *graph)
            file.write_text(json.dumps(found))
        stored: dict[str, Answers] = json.loads(file.read_text())
    return stored


def _answers_of_neo4j(folder: Path, vertices: list[Record], edges: list[Record]) -> dict[str, Answers]:
    found = {}
    with neo4j_server(folder) as driver:

        def answers_to(graph: Graph, choose: ChooseValue, names: Iterable[str] = OPENCYPHER) -> Answers:
            put_records(driver, *graph, choose)
            return {name: list(_asked(driver, OPENCYPHER[name])) for name in names}

        found[SAMPLE] = answers_to((vertices, edges), min)
        for name, choose in _VARIED.items():
            found[name] = answers_to(_varied(vertices, edges), choose)
        found[TWO_LABELS] = answers_to(_with_two_labels(vertices, edges), min, ("11", "no-producer"))
    return found


def _answers_of_gremlin(url: str, vertices: list[Record], edges: list[Record]) -> Answers:
    connection = DriverRemoteConnection(url, "g")
    try:
        g: GraphTraversalSource = source(connection)
        g.V().drop().to_list()
        for records in _varied(vertices, edges):
            for record in records:
                put(g, record, update_single=True)
        with open_client(Endpoint(url), 1) as client:
            return {name: _asked_in_gremlin(client, query) for name, query in GREMLIN.items()}
    finally:
        connection.close()


def _asked_in_gremlin(client: Client, query: str) -> list[Any]:
    found = plain(answers_in_the_grammar(client, query))
    assert isinstance(found, list)
    return found


def _asked(driver: Driver, query: str) -> Iterator[Any]:
    """Yield the rows as `plain` shows those of Gremlin: an edge between its ends as a list."""
    for record in driver.execute_query(query).records:
        row = {name: _plain(record[name]) for name in record.keys()}  # noqa: SIM118
        yield list(row.values()) if any(isinstance(each, Node) for each in record.values()) else row


def _plain(value: Any) -> Any:
    if isinstance(value, Node):
        return {"T.id": value["~id"]}
    if isinstance(value, Relationship):
        assert value.start_node is not None
        assert value.end_node is not None
        ends = {"Direction.OUT": _plain(value.start_node), "Direction.IN": _plain(value.end_node)}
        return {"T.label": value.type, **ends, **{name: value[name] for name in value}}
    return value


# The graphs.

_WAREHOUSE = "dev|redshift://tickit-wh.us-east-1:5439"
_SALES, _USERS = f"{_WAREHOUSE}|dev.public.sales", f"{_WAREHOUSE}|dev.public.users"
_CRM = "dev|s3://tickit-crm|users"


def _varied(vertices: list[Record], edges: list[Record]) -> Graph:
    """Return the sample with what it lacks."""
    tickit, crm = "tickit_daily", "crm_daily"
    by_id = {vertex.id: vertex for vertex in deepcopy(vertices)}
    facts = by_id[f"{_WAREHOUSE}|dev.tickit_marts.fct_sales"]
    facts.sets["tags"] = ["audited", *facts.sets["tags"], "weekly"]
    facts.sets["owners"] = ["data@example.com", "zoe@example.com"]
    by_id[_SALES].sets["aliases"].append("s3://tickit-copy|sales (configured)")
    by_id[_SALES].sets["owners"] = ["data@example.com"]
    for name in (_USERS, _SALES):
        by_id[name].sets["dag_name"] = [tickit, crm]
    file: dict[str, Value] = {
        "environment": "dev",
        "name": "users",
        "qualified_name": "users",
        "namespace": "s3://tickit-crm",
    }
    job: dict[str, Value] = {
        "environment": "dev",
        "name": "crm_export",
        "job_type": "spark",
        "status": "failed",
    }
    run: dict[str, Value] = {"last_run_id": "crm-1", "last_run_at": 1, "rows_written": 2, "duration_ms": 3}
    by_id[_CRM] = Record(_CRM, "file", None, file, {"dag_name": [crm]})
    writer = "dev|crm_daily|spark|crm_export"
    single: dict[str, Value] = {**job, **run, "framework": "spark 3.5.9"}
    by_id[writer] = Record(writer, "job", None, single, {"dag_name": [crm]})
    prod = deepcopy(by_id[_USERS])
    prod.id = prod.id.replace("dev|", "prod|", 1)
    prod.single["environment"] = "prod"
    by_id[prod.id] = prod
    checked = {edge.ends[1]: edge.ends[0] for edge in edges if edge.label == "checks" and edge.ends}
    of_column = next(test for target, test in sorted(checked.items()) if by_id[target].label == "column")
    by_id[of_column].single["status"] = "error"
    of_crm: dict[str, Value] = {
        "environment": "dev",
        "dag_name": crm,
        "job_name": "crm_export",
        "job_type": "spark",
    }
    more = [
        Record("crm-1", "feeds", (_USERS, _CRM), dict(of_crm)),
        Record("crm-2", "feeds", (_CRM, _USERS), dict(of_crm)),
        Record("crm-3", "feeds", (_SALES, _CRM), dict(of_crm)),
        Record("crm-4", "writes", (writer, _CRM), dict(of_crm)),
    ]
    return list(by_id.values()), [*edges, *more]


def _with_two_labels(vertices: list[Record], edges: list[Record]) -> Graph:
    """Return the sample with a dataset that two loads at the same time created, one as a view."""
    changed = deepcopy(vertices)
    for vertex in changed:
        if vertex.id == _USERS:
            vertex.label = "table::view"
    return changed, edges


# What of the queries depends on the value that Neptune chooses, and why that is right.

_FILTERS = {"21", "22", "tags"}  # members of the answer
_SHOWN = {"15": "aliases", "owners": "owners"}  # a column

# Rows of Gremlin that are no maps.
_VALUES = {"19", "graph.md"}


def reads_a_set(query: str) -> bool:
    """Whether a query reads the value of a set of a vertex. Edges have single values."""
    query = re.sub(r"\w+\.\w+ IS (NOT )?NULL", "", query)
    read = {*re.findall(r"\w\.(\w+)", query), *re.findall(r"[{,] ?(\w+):", re.sub(r"-\[.*?\]-", "", query))}
    of_edges = set(re.findall(r"\b(?:hop|edge)\.(dag_name)\b", query))
    return not SETS.isdisjoint(read - of_edges)


def test_the_queries_that_depend_on_a_chosen_value_are_known() -> None:
    assert {name for name, query in OPENCYPHER.items() if reads_a_set(query)} == {*_FILTERS, *_SHOWN}


def test_each_gremlin_query_has_one_in_opencypher() -> None:
    assert list(OPENCYPHER) == list(GREMLIN)


@pytest.mark.parametrize("name", OPENCYPHER)
def test_queries_use_what_neptune_documents(name: str) -> None:
    assert list(undocumented(OPENCYPHER[name])) == []


@pytest.mark.parametrize(
    ("query", "construct"),
    [
        ("MATCH p = shortestPath((a)-[:feeds*]->(b)) RETURN p", "the function shortestPath"),
        ("CALL { MATCH (a) RETURN a } RETURN a", "the keyword CALL"),
        ("MATCH (a) WHERE a.name =~ 'x.*' RETURN a", "the character ~"),
        ("MATCH (a) RETURN 2 ^ a.position", "the character ^"),
        ("MATCH (a) WHERE EXISTS { (a)-->() } RETURN a", "the keyword EXISTS"),
        ("MATCH (a) WHERE exists { (a)-->() } RETURN a", "a subquery or map projection"),
        ("MATCH (a) RETURN a {.name}", "a subquery or map projection"),
        ("MATCH (a) RETURN labels(a)[0]", "an index into a list"),
        ("MATCH (a) WITH keys(a) AS k RETURN k[0]", "an index into a list"),
        ("MATCH (a) RETURN [(a)-[:feeds]->(b) | b.name]", "a pattern comprehension"),
        ("MATCH (a:table|view) RETURN a", "an expression of labels"),
        ("MATCH (a:table&view) RETURN a", "the character &"),
        ("MATCH (a:table WHERE a.name = 'x') RETURN a", "a condition within a pattern"),
        ("MATCH ((a)-[:feeds]->(b))+ RETURN a", "a quantified path"),
        ("MATCH ((a)-[:feeds]->(b)){1,3} RETURN a", "a quantified path"),
        ("MATCH (a)-[:feeds* {job_name: a.name}]->(b) RETURN b", "a variable in the properties of"),
        ("MATCH (a) RETURN reduce(s = 0, x IN keys(a) | s)", "the function reduce"),
        ("MATCH (a) WHERE any(x IN labels(a) WHERE x = 'table') RETURN a", "the function any"),
        ("MATCH (a) RETURN apoc.coll.sort(labels(a))", "the function sort"),
        ("MATCH (a) RETURN a.name AS of", "the reserved word of"),
    ],
)
def test_what_neptune_does_not_document_is_recognized(query: str, construct: str) -> None:
    assert any(each.startswith(construct) for each in undocumented(query)), list(undocumented(query))


@pytest.mark.jvm
@pytest.mark.parametrize("number", NUMBERED)
def test_queries_return_the_results_of_the_page(number: str, answers: dict[str, Answers]) -> None:
    found = [as_written(row) for row in answers[SAMPLE][number]]

    if "ORDER BY" in OPENCYPHER[number]:
        assert found == FOUND[number].answer
    else:
        assert _counted(found) == _counted(FOUND[number].answer)


@pytest.mark.jvm
def test_the_query_of_everything_returns_edges_with_their_ends(answers: dict[str, Answers]) -> None:
    found = answers[SAMPLE][EVERYTHING]

    counts = Counter(edge["T.label"] for _, edge, _ in found)
    assert counts == {row["edge"]: int(row["paths"]) for row in FOUND[EVERYTHING].answer}
    assert all(
        [source, target] == [edge["Direction.OUT"], edge["Direction.IN"]] for source, edge, target in found
    )


@pytest.mark.jvm
@pytest.mark.parametrize("cell", CELLS)
def test_cells_return_the_results_of_the_notebook(cell: str, answers: dict[str, Answers]) -> None:
    assert rows(answers[SAMPLE][cell]) == expected(cell)


@pytest.mark.jvm
@pytest.mark.parametrize("name", [each for each in OPENCYPHER if each not in {*_FILTERS, *_SHOWN}])
def test_answers_are_those_of_gremlin_whatever_values_are_chosen(
    name: str, answers: dict[str, Answers]
) -> None:
    wanted = _comparable(name, answers[GREMLIN_VARIED][name])

    assert _comparable(name, answers[SMALLEST][name]) == wanted
    assert _comparable(name, answers[GREATEST][name]) == wanted


@pytest.mark.jvm
@pytest.mark.parametrize("name", sorted(_FILTERS))
def test_a_filter_by_a_set_finds_what_has_the_value_chosen(name: str, answers: dict[str, Answers]) -> None:
    wanted = _comparable(name, answers[GREMLIN_VARIED][name])
    found = [_comparable(name, answers[graph][name]) for graph in _VARIED]

    assert all(each <= wanted for each in found)
    assert any(each < wanted for each in found)


@pytest.mark.jvm
@pytest.mark.parametrize(("name", "column"), _SHOWN.items())
def test_of_a_set_one_value_is_shown(name: str, column: str, answers: dict[str, Answers]) -> None:
    wanted = answers[GREMLIN_VARIED][name]
    assert any(len(row[column]) > 1 for row in wanted)

    for graph, choose in _VARIED.items():
        chosen = [{**row, column: choose(row[column])} for row in wanted]
        assert _counted(answers[graph][name]) == _counted(chosen)


@pytest.mark.parametrize("name", sorted(each for each in {*_FILTERS, *_SHOWN} if each in FOUND))
def test_the_page_says_which_queries_depend_on_the_value_chosen(name: str) -> None:
    chapter = PAGE.read_text().partition(f"\n## {name}. ")[2].partition("\n## ")[0]
    assert "one value" in chapter


@pytest.mark.jvm
def test_a_dataset_with_two_labels_has_both(answers: dict[str, Answers]) -> None:
    (shown,) = (row for row in answers[TWO_LABELS]["11"] if row["name"] == "dev.public.users")
    assert sorted(shown["what"]) == ["table", "view"]
    assert rows(answers[TWO_LABELS]["no-producer"]) == expected("no-producer")


def _comparable(name: str, found: list[Any]) -> Counter[Any]:
    """Rows of a question as the page writes them, of a notebook's cell as its answers do."""
    if name in CELLS:
        return rows(found)
    if name == EVERYTHING:
        return _counted([[each["T.id"] for each in (source, target)] for source, _, target in found])
    if name in _VALUES:
        found = [{"": next(iter(row.values())) if isinstance(row, dict) else row} for row in found]
    return _counted([as_written(row) for row in found])


def _counted(found: list[Any]) -> Counter[str]:
    return Counter(json.dumps(row, sort_keys=True) for row in found)
