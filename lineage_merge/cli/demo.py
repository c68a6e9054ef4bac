"""The command `demo`: the sample pipeline in an embedded graph of its own."""

import dataclasses

from lineage_merge.cli.command import command
from lineage_merge.cli.error_handling import handle_errors, make_console, print_json, progress
from lineage_merge.cli.options import as_json_or_text, without_progress

_NEXT = """
The graph is stored. Questions read it with --demo, without it your own graph:
  lineage-merge upstream top_events_by_sales#total_sales --demo
  lineage-merge impact s3://tickit-raw/sales --demo
  lineage-merge html --out lineage.html --demo"""


@command(
    "lineage-merge demo",
    "lineage-merge demo --json",
    short_help="Merge the sample pipeline and show a path through it.",
)
@as_json_or_text
@without_progress
def demo(as_json: bool, quiet: bool) -> None:
    """Merge the sample pipeline into an embedded graph and show the paths through it.

    The sample consists of two Spark applications and a dbt project (TICKIT) in sample_data/. No server is
    needed: the first start downloads and caches the Gremlin Server's jars. The graph is one of its own, which
    questions read with --demo.
    """
    from rich.text import Text

    from lineage_merge.orchestration.report_text import loaded_text, print_report
    from lineage_merge.questions.formats.tree import tree

    with handle_errors(), progress(quiet) as on_progress:
        from lineage_merge.cli import sample
        from lineage_merge.cli.interrupt import session
        from lineage_merge.history.layout import history_location
        from lineage_merge.infra.embedded.serving import started_ahead
        from lineage_merge.infra.graph_files import demo_graph_file
        from lineage_merge.orchestration.configuration import CONFIGURATION

        settings = CONFIGURATION.load(sample.config_file(), environ={})
        graph_file = demo_graph_file()
        with (
            started_ahead(settings.gremlin.endpoint, on_progress, graph_file) as server,
            session(settings.spark, on_progress) as spark,
        ):
            from lineage_merge.orchestration import pipeline
            from lineage_merge.questions.backends.opening import open_graph
            from lineage_merge.questions.lineage_questions import all_paths

            server.check()
            built = pipeline.build(spark, settings, on_progress)
            server.wait()
            with pipeline.endpoint(settings, on_progress, graph_file) as target:
                history = history_location(settings, graph_file)
                loaded = pipeline.load_graph(built, settings, target, on_progress, history=history)
                on_progress("querying the paths")
                with open_graph(target) as graph:
                    ends = sample.path_ends(settings.environment)
                    at = {vertex.id: vertex for vertex in graph.vertices(ends)}
                    paths = all_paths(graph, at[ends[0]], at[ends[1]])
    if as_json:
        hops = [
            {
                "source": edge.from_id,
                "target": edge.to_id,
                "job": edge.job,
                "via": edge.properties.get("via", ""),
            }
            for edge in paths.edges
        ]
        print_json({"report": built.report.as_json(), "written": dataclasses.asdict(loaded), "path": hops})
        return
    console = make_console()
    print_report(console, built.report, loaded_text(loaded))
    console.print("\nFrom s3://tickit-raw/sales to top_events_by_sales:\n")
    for line in tree(paths, ends[:1]):
        console.print(line, soft_wrap=True)
    console.print(Text(_NEXT), soft_wrap=True)
