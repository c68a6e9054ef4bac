"""Results of queries on a small pipeline, from a server and from a folder."""

from collections.abc import Iterable

import pytest

from lineage_merge.graph_format.elements import Edge, Subgraph, Vertex, name_parts
from lineage_merge.query import Lineage
from lineage_merge.questions.comparison import Only, compare
from lineage_merge.questions.cycles import cycles
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.layers import check_layers, parse_layers
from lineage_merge.questions.lineage import all_paths, edges_on_paths
from lineage_merge.questions.traversal.impact import impact
from lineage_merge.questions.traversal.lineage import lineage, strongly_connected_components
from tests.lineage_made import at, col


def vertex(graph: LineageGraph, identifier: str) -> Vertex:
    (found,) = graph.vertices([identifier])
    return found


def flows(found: Subgraph, *labels: str) -> set[str]:
    """Return ``a>b``: the last segments of the ends of edges with these labels."""
    return {
        f"{short(each.from_id)}>{short(each.to_id)}"
        for each in found.edges
        if each.label in (labels or ("feeds",))
    }


def short(identifier: str) -> str:
    _environment, _namespace, *rest = identifier.split("|")
    return ".".join(rest)


def shorts(vertices: Iterable[Vertex]) -> set[str]:
    return {short(each.id) for each in vertices}


@pytest.mark.jvm
def test_upstream_passes_diamonds_and_all_dags(graph: LineageGraph) -> None:
    found = lineage(graph, vertex(graph, at("z")), "up")
    assert flows(found) == {"in>a", "a>b", "a>c", "b>d", "c>d", "d>e", "e>x", "x>y", "y>x", "y>z"}
    assert shorts(found.vertices.values()) == {"in", "a", "b", "c", "d", "e", "x", "y", "z"}


@pytest.mark.jvm
def test_downstream_has_only_edges_within_the_depth(graph: LineageGraph) -> None:
    start = vertex(graph, at("e"))
    assert flows(lineage(graph, start, "down", depth=1)) == {"e>report!", "e>x"}
    # y feeds x too, but y lies at the end of the depth.
    assert flows(lineage(graph, start, "down", depth=2)) == {"e>report!", "e>x", "x>y"}
    assert flows(lineage(graph, start, "down", depth=3)) == {"e>report!", "e>x", "x>y", "y>x", "y>z"}


@pytest.mark.jvm
def test_depth_is_the_shortest_distance(graph: LineageGraph) -> None:
    found = lineage(graph, vertex(graph, at("d")), "down", depth=4)
    assert flows(found) == {"d>e", "e>report!", "e>x", "x>y", "y>x", "y>z"}


@pytest.mark.jvm
def test_lineage_of_a_dag_follows_only_its_edges(graph: LineageGraph) -> None:
    assert flows(lineage(graph, vertex(graph, at("z")), "up", dag="nightly")) == {"e>x", "x>y", "y>x", "y>z"}
    assert flows(lineage(graph, vertex(graph, at("d")), "down", dag="daily")) == {"d>e", "e>report!"}


@pytest.mark.jvm
def test_cycles_end_in_both_directions(graph: LineageGraph) -> None:
    assert flows(lineage(graph, vertex(graph, at("x")), "down")) == {"x>y", "y>x", "y>z"}
    assert flows(lineage(graph, vertex(graph, at("log")), "up")) == {"log>log"}


@pytest.mark.jvm
def test_edges_have_their_properties(graph: LineageGraph) -> None:
    (edge,) = lineage(graph, vertex(graph, at("b")), "up", depth=1).edges
    assert (edge.from_id, edge.to_id, edge.label, edge.job) == (at("a"), at("b"), "feeds", "load")
    assert edge.properties == {
        "environment": "dev",
        "dag_name": "daily",
        "job_type": "spark",
        "job_name": "load",
        "write_mode": "overwrite",
    }
    assert vertex(graph, at("e")).dags == ("daily", "nightly")


@pytest.mark.jvm
def test_column_lineage_has_transformations(graph: LineageGraph) -> None:
    found = lineage(graph, vertex(graph, col("e", "total")), "up")
    assert flows(found, "feeds_column") == {
        "in.id>a.id",
        "a.id>b.key",
        "a.id>c.id",
        "b.key>d.key",
        "c.id>d.key",
        "d.key>e.total",
    }
    assert {each.label for each in found.edges} == {"feeds_column"}
    said = {
        (each.properties["transformation"], each.properties.get("expression"))
        for each in found.edges
        if "transformation" in each.properties
    }
    assert said == {
        ("IDENTITY", None),
        ("TRANSFORMATION", "cast(id as string)"),
        ("AGGREGATION", "count(key)"),
    }


@pytest.mark.jvm
def test_influences_are_optional_and_not_followed(graph: LineageGraph) -> None:
    up = lineage(graph, vertex(graph, col("e", "total")), "up", depth=1, influences=True)
    assert flows(up, "feeds_column") == {"d.key>e.total"}
    assert flows(up, "influences") == {"d.flag>e"}
    down = lineage(graph, vertex(graph, col("d", "flag")), "down", influences=True)
    assert (flows(down, "influences"), flows(down, "feeds_column")) == ({"d.flag>e"}, set())
    of_datasets = lineage(graph, vertex(graph, at("c")), "up", depth=1, influences=True)
    assert (flows(of_datasets), flows(of_datasets, "influences")) == ({"a>c"}, {"a.day>c"})


@pytest.mark.jvm
def test_columns_of_datasets_include_their_lineage(graph: LineageGraph) -> None:
    found = lineage(graph, vertex(graph, at("b")), "up", depth=1, columns=True)
    assert flows(found) == {"a>b"}
    assert flows(found, "has_column") == {"a>a.id", "a>a.day", "b>b.key"}
    assert flows(found, "feeds_column") == {"a.id>b.key"}


@pytest.mark.jvm
def test_a_path_consists_of_all_paths_between_its_ends(graph: LineageGraph) -> None:
    found = all_paths(graph, vertex(graph, at("a")), vertex(graph, at("e")))
    assert flows(found) == {"a>b", "a>c", "b>d", "c>d", "d>e"}
    assert flows(all_paths(graph, vertex(graph, at("e")), vertex(graph, at("y")))) == {"e>x", "x>y"}
    assert flows(all_paths(graph, vertex(graph, at("a")), vertex(graph, at("e")), depth=2)) == set()
    assert flows(all_paths(graph, vertex(graph, at("a")), vertex(graph, at("e")), depth=3)) == flows(found)


@pytest.mark.jvm
def test_without_a_path_only_the_ends_are_returned(graph: LineageGraph) -> None:
    found = all_paths(graph, vertex(graph, at("e")), vertex(graph, at("a")))
    assert (set(found.vertices), found.edges) == ({at("a"), at("e")}, ())


@pytest.mark.jvm
def test_a_path_between_columns_follows_columns(graph: LineageGraph) -> None:
    found = all_paths(graph, vertex(graph, col("a", "id")), vertex(graph, col("x", "n")), influences=True)
    assert flows(found, "feeds_column") == {
        "a.id>b.key",
        "a.id>c.id",
        "b.key>d.key",
        "c.id>d.key",
        "d.key>e.total",
        "e.total>x.n",
    }
    assert flows(found, "influences") == set()  # neither a.day nor d.flag is on the path


@pytest.mark.jvm
def test_the_impact_of_a_dataset(graph: LineageGraph) -> None:
    found = impact(graph, vertex(graph, at("d")))
    assert shorts(found.datasets) == {"e", "x", "y", "z"}
    assert shorts(found.exposures) == {"report!"}
    assert shorts(found.columns) == {"e.total", "x.n"}
    assert {each.id for each in found.jobs} == {
        "dev|daily|spark|load",
        "dev|nightly|spark|night",
        "dev|nightly|spark|back",
    }
    assert found.dags == ("daily", "nightly")
    assert found.counts == {
        "datasets": 4,
        "indirectly_affected": 0,
        "columns": 2,
        "jobs": 3,
        "dags": 2,
        "exposures": 1,
    }


@pytest.mark.jvm
def test_the_impact_of_a_column_includes_influenced_datasets(graph: LineageGraph) -> None:
    value = impact(graph, vertex(graph, col("d", "key")))
    assert shorts(value.datasets) == {"e", "x"}
    assert (shorts(value.columns), shorts(value.indirectly_affected)) == ({"e.total", "x.n"}, set())
    assert shorts(value.exposures) == {"report!"}
    indirect_impact = impact(graph, vertex(graph, col("d", "flag")))
    assert (shorts(indirect_impact.datasets), shorts(indirect_impact.indirectly_affected)) == (set(), {"e"})
    assert shorts(indirect_impact.exposures) == {"report!"}
    assert {each.name for each in indirect_impact.jobs} == {"load"}


@pytest.mark.jvm
def test_the_impact_of_a_job_includes_its_outputs(graph: LineageGraph) -> None:
    found = impact(graph, vertex(graph, "dev|daily|spark|side"))
    assert shorts(found.datasets) == {"c", "d", "e", "x", "y", "z"}
    assert shorts(found.columns) == {"c.id", "d.key", "d.flag", "e.total", "x.n"}
    assert shorts(impact(graph, vertex(graph, "dev|daily|spark|side"), depth=1, dag="daily").datasets) == {
        "c",
        "d",
        "e",
    }


@pytest.mark.jvm
def test_lists_of_datasets_and_jobs(graph: LineageGraph) -> None:
    lineage = Lineage.of_graph(graph)
    of_dev = Lineage.of_graph(graph, environment="dev")
    of_prod = Lineage.of_graph(graph, environment="prod")
    nightly = Lineage.of_graph(graph, environment="dev", dag="nightly")
    assert shorts(of_prod.datasets().datasets) == {"in", "a", "b", "q"}
    assert shorts(lineage.datasets("REP").datasets) == {"report!"}
    assert shorts(lineage.datasets("s3://").datasets) == {"in"}
    assert shorts(nightly.datasets().datasets) == {"e", "x", "y", "z"}
    assert [dataset.id for dataset in of_dev.datasets(limit=2).datasets] == [at("a"), at("b")]
    assert [job.id for job in of_prod.jobs().jobs] == ["prod|daily|spark|load"]
    assert [job.name for job in of_dev.jobs("n").jobs] == ["night"]


@pytest.mark.jvm
def test_datasets_without_consumer(graph: LineageGraph) -> None:
    def ids(environment: str | None = None, dag: str | None = None) -> set[str]:
        return set(Lineage.of_graph(graph, environment=environment, dag=dag).no_consumer().graph.vertices)

    assert ids() == {at("z"), at("log"), at("q", "prod")}
    assert ids("dev") == {at("z"), at("log")}
    # The nightly job reads e: that another DAG reads it counts.
    assert ids("dev", "daily") == {at("log")}


@pytest.mark.jvm
def test_datasets_without_producer(graph: LineageGraph) -> None:
    all_dags, nightly = Lineage.of_graph(graph), Lineage.of_graph(graph, environment="dev", dag="nightly")
    assert set(all_dags.no_producer().graph.vertices) == {at("s3://raw|in"), at("s3://raw|in", "prod")}
    assert set(nightly.no_producer().graph.vertices) == set()


@pytest.mark.jvm
def test_cycles_are_groups_with_their_edges(graph: LineageGraph) -> None:
    found = cycles(graph)
    assert found.groups == ((at("x"), at("y")), (at("log"),))
    assert flows(found.subgraph) == {"x>y", "y>x", "log>log"}
    assert cycles(graph, "prod").groups == ()
    assert cycles(graph, dag="daily").groups == ((at("log"),),)


def test_strongly_connected_components_of_any_depth() -> None:
    chain = [(f"{n:06}", f"{n + 1:06}") for n in range(20_000)]
    assert strongly_connected_components(chain) == ()
    assert strongly_connected_components([*chain, ("020000", "000000")])[0] == tuple(
        f"{n:06}" for n in range(20_001)
    )
    assert strongly_connected_components(["ab", "bc", "ca", "cd", "de", "ed", "ff", "fa"]) == (  # type: ignore[list-item]
        ("a", "b", "c"),
        ("d", "e"),
        ("f",),
    )


@pytest.mark.jvm
def test_two_environments_differ_in_datasets_feeds_and_columns(graph: LineageGraph) -> None:
    found = compare(graph, "dev", "prod")
    assert found.only_right == Only(
        "prod",
        (without_environment("q"),),
        ((without_environment("b"), without_environment("q")),),
        (f"{without_environment('a')}|extra",),
    )
    assert found.only_left.datasets == tuple(
        sorted(without_environment(each) for each in ("c", "d", "e", "log", "report!", "x", "y", "z"))
    )
    assert found.only_left.columns == (f"{without_environment('a')}|day", "s3://raw|in|id")
    assert (without_environment("a"), without_environment("b")) not in found.only_left.feeds


def without_environment(name: str) -> str:
    return at(name).removeprefix("dev|")


@pytest.mark.jvm
def test_backward_feeds_violate_the_layers(graph: LineageGraph) -> None:
    layers = parse_layers(["raw=s3://raw/*", "core=[abcd]", "early=x", "mart=e", "late=[yz]"])
    found = check_layers(graph, layers, "dev")
    assert [(short(each.edge.from_id), each.source, each.target) for each in found.breaches] == [
        ("e", "mart", "early"),
        ("y", "late", "early"),
    ]
    assert found.datasets == {"raw": 1, "core": 4, "early": 1, "mart": 1, "late": 2, "": 2}


@pytest.mark.jvm
@pytest.mark.parametrize(("adjacent", "expected"), [(False, set()), (True, {"b>d"})])
def test_skipped_layers_are_violations_on_request(
    graph: LineageGraph, adjacent: bool, expected: set[str]
) -> None:
    layers = parse_layers(["one=a", "one=b", "two=c", "three=d"])
    found = check_layers(graph, layers, "dev", adjacent=adjacent)
    assert flows(found.subgraph) == expected
    assert all(each.skipped for each in found.breaches)


@pytest.mark.jvm
def test_everything_yields_the_entire_graph(graph: LineageGraph) -> None:
    everything = list(graph.everything("prod"))
    vertices = {each.id for each in everything if isinstance(each, Vertex)}
    assert len(everything) - len(vertices) == 3 + 3 + 2 + 3  # feeds, writes, feeds_column, has_column
    assert {name_parts(each)[0] for each in vertices} == {"prod"}
    assert len(vertices) == 4 + 1 + 3
    assert {each.label for each in graph.everything(labels=["job"])} == {"job"}


def hops(*pairs: str) -> set[Edge]:
    return {Edge(pair, "feeds", pair[0], pair[1]) for pair in pairs}


def test_dead_ends_are_not_on_paths() -> None:
    assert edges_on_paths(hops("ab", "bc", "bx", "cd"), "a", "c") == hops("ab", "bc")


def test_all_paths_are_found_despite_cycles() -> None:
    found = edges_on_paths(hops("ab", "ac", "bd", "cd", "db", "de"), "a", "e")
    assert found == hops("ab", "ac", "bd", "cd", "db", "de")


def test_paths_do_not_pass_their_ends_twice() -> None:
    assert edges_on_paths(hops("ab", "ba", "bc", "cb", "ca"), "a", "c") == hops("ab", "bc")


def test_a_path_from_a_dataset_to_itself_is_its_cycle() -> None:
    assert edges_on_paths(hops("ab", "ba", "bc"), "a", "a") == hops("ab", "ba")


def test_paths_longer_than_the_depth_are_omitted() -> None:
    assert edges_on_paths(hops("ab", "bc", "ac"), "a", "c", 1) == hops("ac")
    assert edges_on_paths(hops("ab", "bc", "ac"), "a", "c", 2) == hops("ab", "bc", "ac")
