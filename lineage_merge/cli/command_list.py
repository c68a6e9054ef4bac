"""The commands under the headings of `lineage-merge --help`, so that it imports none of them."""

from collections.abc import Mapping
from typing import NamedTuple


class Listed(NamedTuple):
    """A command: ``module:attribute`` of it or its question, and its line in the help ("": not its own)."""

    place: str
    summary: str = ""


COMMANDS: Mapping[str, Mapping[str, Listed]] = {
    "Build": {
        "init": Listed("cli.init:init", "Write a first configuration."),
        "demo": Listed("cli.demo:demo", "Merge a sample company, and answer nine questions about it."),
        "run": Listed("cli.merging:run", "Read the sources, merge them, and update the graph."),
        "build": Listed("cli.merging:build"),
        "load": Listed("cli.merging:load"),
        "sql": Listed("cli.sql:sql", "Show the lineage of SQL files, or check a merge request."),
        "review": Listed("cli.review:review", "Review a change of dbt, SQL files or a Spark job."),
        "receive": Listed("cli.servers:receive"),
    },
    "Ask": {
        "datasets": Listed(
            "questions.dataset_search:DatasetsQuestion",
            "List or search datasets by name, tag, owner and failed runs or tests.",
        ),
        "jobs": Listed("questions.listing:JobsQuestion"),
        "upstream": Listed(
            "questions.lineage:UpstreamQuestion",
            "Show the upstream lineage of a dataset or column.",
        ),
        "downstream": Listed(
            "questions.lineage:DownstreamQuestion",
            "Show the downstream lineage of a dataset or column.",
        ),
        "path": Listed(
            "questions.lineage:PathQuestion",
            "Show all paths from one dataset or column to another.",
        ),
        "impact": Listed(
            "questions.impact:ImpactQuestion",
            "List everything that depends on a dataset, column or job.",
        ),
        "owners": Listed(
            "questions.ownership:OwnersQuestion", "List the owners of everything that a change affects."
        ),
        "usage": Listed(
            "questions.usage:UsageQuestion", "List datasets or columns by reads, and what is unused."
        ),
        "no-consumer": Listed("questions.listing:NoConsumerQuestion"),
        "no-producer": Listed("questions.listing:NoProducerQuestion"),
        "cycles": Listed("questions.cycles:CyclesQuestion"),
        "layers": Listed("questions.layers:LayersQuestion"),
        "tags": Listed(
            "questions.tags:TagsQuestion", "List tags and what carries them along column lineage."
        ),
        "freshness": Listed(
            "questions.freshness:FreshnessQuestion",
            "List datasets by last update, and what makes them stale.",
        ),
        "tests": Listed(
            "questions.assertions:AssertionsQuestion",
            "List tests of a dataset and its upstream, with results.",
        ),
        "why": Listed("questions.why:WhyQuestion", "Find upstream causes of late or wrong data."),
        "diff": Listed("cli.composed_commands:diff", "Show the differences of two environments or moments."),
        "history": Listed(
            "cli.composed_commands:history", "List merges, or the changes of a dataset, column or job."
        ),
        "check": Listed("cli.composed_commands:check", "Check the policies of the configuration."),
    },
    "Share": {
        "html": Listed("cli.page:html", "Write the lineage as an HTML page, a file or a folder."),
        "export": Listed(
            "cli.export:export", "Export the lineage to DataHub, DataZone, OpenLineage or files."
        ),
        "report": Listed("cli.dag:report"),
        "near-misses": Listed("cli.near_misses:near_misses"),
        "declare": Listed("cli.declare:declare"),
        "mcp": Listed("cli.servers:mcp", "Answer questions of assistants (Model Context Protocol)."),
        "serve": Listed("cli.servers:serve"),
    },
    "Operate": {
        "doctor": Listed("cli.checks:doctor", "Check connections and permissions, and print fixes."),
        "validate": Listed("cli.checks:validate"),
        "archive-history": Listed("cli.archive_history:archive_history"),
        "remove": Listed("cli.dag:remove"),
        "publish": Listed("cli.publish:publish"),
        "help": Listed(
            "cli.help_topics:help_command", "Show the help of a command or topic, such as exit-codes."
        ),
    },
}
