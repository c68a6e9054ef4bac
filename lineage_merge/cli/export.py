"""The command `export`."""

from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from lineage_merge.cli.command import command, rare_option
from lineage_merge.cli.error_handling import print_json, progress
from lineage_merge.cli.query_options import QueryOptions, open_session, query_command
from lineage_merge.exporters import registry
from lineage_merge.exporters.exporter import Export
from lineage_merge.model.errors import ConfigError

if TYPE_CHECKING:
    from lineage_merge.query.session import Session


@command(
    "lineage-merge export --to datahub --url http://datahub-gms:8080 --environment prod",
    "lineage-merge export --to openlineage --url http://marquez:5000 -c lineage_merge.yml",
    "lineage-merge export --to graphml --out s3://docs/lineage.graphml --dag tickit_daily",
    "lineage-merge export --to neptune-csv --out copy",
    "lineage-merge export --to openlineage --from 1d --out changes.jsonl",
    short_help="Export the lineage to DataHub, OpenLineage or files.",
)
@click.option(
    "--to",
    "name",
    required=True,
    type=click.Choice(tuple(registry.EXPORTERS)),
    help="exporter, see docs/exporters.md",
)
@click.option(
    "--out",
    metavar="PATH",
    help="output file, or folder for neptune-csv; local or s3://  [default: standard output]",
)
@click.option("--url", metavar="URL", help="server of datahub or openlineage")
@rare_option("--token-env", metavar="NAME", help="environment variable with the server's token")
@click.option("--from", "start", metavar="TIME", help="only what changed since then")
@query_command("text", formats=("text", "json"))
def export(options: QueryOptions, name: str, start: str | None, **given: str | None) -> None:
    """Export the lineage to DataHub, to consumers of OpenLineage, or to files of other tools.

    Other settings of an exporter are read from `exporters` in the configuration. With --dag, only elements of
    this DAG; DataHub gets the complete lineage of datasets that other DAGs write, too.
    """
    exporter = registry.EXPORTERS[name]
    if start:
        if not exporter.exports_changes:
            raise click.UsageError(f"--to {name} has no --from")
        if options.folder:
            raise click.UsageError("--folder has no history: omit it with --from")
        options = replace(options, as_of=options.as_of or "now")
    with open_session(options) as session:
        settings = {
            **session.config.exporters.get(name, {}),
            **{key: value for key, value in given.items() if value},
        }
        if given["out"] and not given["url"]:
            settings.pop("url", None)  # --out takes precedence over a url in the configuration
        settings = dict(registry.validate_settings({name: settings})[name])
        if not exporter.has_destination(settings):
            if not exporter.writes_stdout:
                raise ConfigError("", f"--to {name} needs --out")
            if options.format == "json":
                raise ConfigError("", "--json requires --out")
        registry.check_requirements(exporter, settings)
        with progress(not exporter.has_destination(settings)) as on_progress:
            export = Export(session.graph, settings, session.environment, options.dag, on_progress)
            if start:
                export = _changes_since(start, export, session)
            result = exporter.send(export)
        if hint := session.empty_hint():
            click.echo(hint, err=True)
    if options.format == "json":
        print_json({"to": name, "environment": session.environment, "dag": options.dag, **asdict(result)})
    elif result.destination:
        click.echo(str(result))


def _changes_since(start: str, export: Export, session: "Session") -> Export:
    """Return the export of what changed since a moment; its time is that of the newest merge."""
    from lineage_merge.questions.diff import picture_at

    before = picture_at(replace(session, on_progress=export.on_progress), start, "--from")
    earlier, newest = (
        max((merge.record.name.time for merge in merges), default=0)
        for merges in (before.merges, session.scope.merges)
    )
    if earlier > newest:
        raise ConfigError("--from", f"{start} is later than the exported moment")
    return replace(export, before=before.graph, at=datetime.fromtimestamp(newest / 1000, tz=UTC))
