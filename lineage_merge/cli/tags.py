"""Command `tags`. Expensive imports are inside the functions."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from lineage_merge.cli.answers import Answer, print_answer
from lineage_merge.cli.command import Command
from lineage_merge.cli.completion import complete_datasets
from lineage_merge.cli.error_handling import epilog
from lineage_merge.cli.query_options import QueryOptions, open_session, query_command

if TYPE_CHECKING:
    from lineage_merge.query.elements import Vertex
    from lineage_merge.query.interface.session import Session
    from lineage_merge.query.tag_propagation import Carrier, PropagatedTags, Stop


@click.command(
    cls=Command,
    short_help="List tags and what carries them along column lineage.",
    epilog=epilog(
        "lineage-merge tags",
        "lineage-merge tags --tag pii",
        "lineage-merge tags dev.marts.customers --tag pii --format table",
        "lineage-merge tags s3://crm-raw/customers#email --json",
    ),
)
@click.argument("name", metavar="[DATASET[#COLUMN]]", required=False, shell_complete=complete_datasets)
@click.option("--tag", metavar="TAG", help="only this tag, with everything that carries it")
@click.option("--own", is_flag=True, help="only own tags, without inherited ones")
@query_command("tree", formats=("tree", "table", "csv", "json"))
def tags(options: QueryOptions, name: str | None, tag: str | None, own: bool) -> None:
    """List the tags of an environment, or what carries a tag, and from where.

    Tags pass from column to column downstream; a tag of a dataset counts for all its columns. They stop where
    `propagation` in the configuration says so. Without DATASET and --tag, tags are counted.
    """
    with open_session(options) as session:
        from lineage_merge.query.names import resolve_dataset_or_column
        from lineage_merge.query.tag_answers import selected
        from lineage_merge.query.tag_propagation import propagate

        of = (
            resolve_dataset_or_column(session.graph, name, session.environment, options.dag) if name else None
        )
        found = propagate(
            session.graph,
            [tag] if tag else None,
            session.config.propagation,
            session.environment,
            options.dag,
        )
        chosen = selected(found, of, own=own)
        header = options.header("tags", session.environment, of=of.id if of else None, tag=tag)
        note = "" if chosen.carriers or chosen.stops else _nothing(session, options, of, tag)
        answer = _carriers(found, chosen, header, note) if name or tag else _counts(chosen, header, note)
        # Counts have no tree.
        print_answer(answer, "table" if options.format == "tree" and not (name or tag) else options.format)


def _counts(found: "PropagatedTags", header: dict[str, Any], note: str) -> Answer:
    from lineage_merge.query.elements import Subgraph
    from lineage_merge.query.tag_answers import counts

    numbers = counts(found)

    def tables() -> Iterator[Any]:
        from lineage_merge.query.formats.tag_tables import count_table

        yield count_table(numbers)

    header = header | {"tags": [asdict(each) for each in numbers]}
    return Answer(Subgraph(), header, tables=tables, note=note)


def _carriers(found: "PropagatedTags", chosen: "PropagatedTags", header: dict[str, Any], note: str) -> Answer:
    from lineage_merge.query.tag_answers import paths, with_paths

    header = header | {
        "carriers": [_carrier_json(each) for each in chosen.carriers],
        "stops": [_stop_json(each) for each in chosen.stops],
    }

    def tables() -> Iterator[Any]:
        from lineage_merge.query.formats.tag_tables import carrier_tables

        return carrier_tables(chosen)

    def lines() -> Iterator[Any]:
        from lineage_merge.query.formats.tag_tables import carrier_tree

        return carrier_tree(chosen, with_paths(found, chosen.carriers))

    graph = paths(found, [*chosen.carriers, *chosen.stops])
    return Answer(graph, header, tables=tables, note=note, lines=lines)


def _carrier_json(carrier: "Carrier") -> dict[str, Any]:
    return {
        "id": carrier.id,
        "tag": carrier.tag,
        "own": carrier.own,
        "by_rows": carrier.by_rows,
        "origin": carrier.origin,
        "path": [each.id for each in carrier.path],
    }


def _stop_json(stop: "Stop") -> dict[str, Any]:
    return {
        "id": stop.id,
        "tag": stop.tag,
        "kind": stop.kind,
        "reason": stop.reason,
        "origin": stop.origin,
        "path": [each.id for each in stop.path],
    }


def _nothing(session: "Session", options: QueryOptions, of: "Vertex | None", tag: str | None) -> str:
    """Return the note of an empty answer. Raises `NotFound` if the environment or DAG is unknown."""
    from lineage_merge.graph_format.schema import DATASET_LABELS
    from lineage_merge.infra.similar_names import did_you_mean
    from lineage_merge.query.elements import COLUMN
    from lineage_merge.query.names import check_scope

    check_scope(session.graph, session.environment, options.dag)
    if of is not None:
        return f"{of.title} carries no tag" if tag is None else f"{of.title} does not carry the tag {tag}"
    if tag is None:
        hint = session.empty_hint()
        return f"no tags; {hint}" if hint else "no tags"
    tagged = session.graph.tagged((*DATASET_LABELS, COLUMN), session.environment, options.dag)
    known = {name for each in tagged for name in each.properties["tags"]}
    return f"no dataset or column has the tag {tag}{did_you_mean(tag, known)}"
