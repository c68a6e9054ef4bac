"""The command `export`."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from lineage_merge.cli.command import command, rare_option
from lineage_merge.cli.error_handling import one_line, print_json, progress
from lineage_merge.cli.query_options import QueryOptions, open_session, query_command
from lineage_merge.exporters import registry
from lineage_merge.exporters.exporter import Export, ExportResult
from lineage_merge.model.errors import ConfigError

if TYPE_CHECKING:
    from lineage_merge.query.session import Session

_SHOWN_NAMES = 10


@command(
    "lineage-merge export --to datahub --url http://datahub-gms:8080 --environment prod",
    "lineage-merge export --to openlineage --url http://marquez:5000 -c lineage_merge.yml",
    "lineage-merge export --to graphml --out s3://docs/lineage.graphml --dag tickit_daily",
    "lineage-merge export --to neptune-csv --out copy",
    "lineage-merge export --to openlineage --from 1d --out changes.jsonl",
    "lineage-merge export --to datazone --domain dzd_4abcdefghijklm --environment prod --dry-run",
    short_help="Export the lineage to DataHub, DataZone, OpenLineage or files.",
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
@rare_option("--domain", metavar="ID", help="domain of datazone, dzd_...")
@rare_option("--dry-run", is_flag=True, help="datazone: count and measure events, send nothing")
@rare_option("--token-env", metavar="NAME", help="environment variable with the server's token")
@click.option("--from", "start", metavar="TIME", help="only what changed since then")
@query_command("text", formats=("text", "json"))
def export(options: QueryOptions, name: str, start: str | None, dry_run: bool, **given: str | None) -> None:
    """Export the lineage to DataHub, DataZone, to consumers of OpenLineage, or to files of other tools.

    Other settings of an exporter are read from `exporters` in the configuration. With --dag, only elements of
    this DAG; DataHub gets the complete lineage of datasets that other DAGs write, too.
    """
    exporter = registry.EXPORTERS[name]
    if dry_run and not exporter.has_dry_run:
        raise click.UsageError(f"--to {name} has no --dry-run")
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
        if given["out"]:  # takes precedence over a server in the configuration
            for server in ("url", "domain"):
                if not given[server]:
                    settings.pop(server, None)
        elif given["domain"]:
            settings.pop("out", None)
        settings = dict(registry.validate_settings({name: settings})[name])
        to_stdout = not (dry_run or exporter.has_destination(settings))
        if to_stdout:
            if not exporter.writes_stdout:
                raise ConfigError("", f"--to {name} needs --out")
            if options.format == "json":
                raise ConfigError("", "--json requires --out")
        registry.check_requirements(exporter, settings)
        with progress(to_stdout) as on_progress:
            export = Export(
                session.graph, settings, session.environment, options.dag, on_progress, dry_run=dry_run
            )
            if start:
                export = _changes_since(start, export, session)
            result = exporter.send(export)
        if hint := session.empty_hint():
            click.echo(hint, err=True)
    if options.format == "json":
        lists = {what.replace(" ", "_"): names for what, names in result.lists.items()}
        outcome = {"destination": result.destination, "counts": result.counts, **lists}
        print_json({"to": name, "environment": session.environment, "dag": options.dag, **outcome})
    elif result.destination:
        click.echo(str(result))
        _print_lists(result)


def _print_lists(result: ExportResult) -> None:
    for what, names in result.lists.items():
        if names:
            click.echo(f"{what}:")
            for name in names[:_SHOWN_NAMES]:
                click.echo(f"  {one_line(name)}")
            if len(names) > _SHOWN_NAMES:
                click.echo(f"  and {len(names) - _SHOWN_NAMES} more (--json has all)")


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
