"""The command `export`."""

from dataclasses import asdict

import click

from lineage_merge.cli.command import Command
from lineage_merge.cli.error_handling import epilog, print_json, progress
from lineage_merge.cli.query_options import QueryOptions, open_session, query_command
from lineage_merge.exporters import registry
from lineage_merge.exporters.exporter import Export
from lineage_merge.model.errors import ConfigError


@click.command(
    cls=Command,
    short_help="Export the lineage to DataHub, OpenLineage or files.",
    epilog=epilog(
        "lineage-merge export --to datahub --url http://datahub-gms:8080 --environment prod",
        "lineage-merge export --to datahub --out datahub.json --folder lineage",
        "lineage-merge export --to openlineage --url http://marquez:5000 -c lineage_merge.yml",
        "lineage-merge export --to graphml --out s3://docs/lineage.graphml --dag tickit_daily",
        "lineage-merge export --to neptune-csv --out copy",
    ),
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
@click.option("--url", metavar="URL", help="server of datahub or openlineage, instead of a file")
@click.option("--token-env", metavar="NAME", help="environment variable with the server's token")
@query_command("text", formats=("text", "json"))
def export(options: QueryOptions, name: str, out: str | None, url: str | None, token_env: str | None) -> None:
    """Export the lineage to DataHub, to consumers of OpenLineage, or to files of other tools.

    Other settings of an exporter are read from `exporters` in the configuration. With --dag, only elements of
    this DAG; DataHub gets the complete lineage of datasets that other DAGs write, too.
    """
    with open_session(options) as session:
        exporter = registry.EXPORTERS[name]
        given = {"out": out, "url": url, "token_env": token_env}
        settings = {
            **session.config.exporters.get(name, {}),
            **{key: value for key, value in given.items() if value},
        }
        if out and not url:
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
            result = exporter.send(export)
        if hint := session.empty_hint():
            click.echo(hint, err=True)
    if options.format == "json":
        print_json({"to": name, "environment": session.environment, "dag": options.dag, **asdict(result)})
    elif result.destination:
        click.echo(str(result))
