"""The command that takes the lineage on to a catalog or a file."""

from dataclasses import asdict
from typing import Any

import click

from lineage_merge.cli.error_handling import epilog, print_json, progress
from lineage_merge.cli.query_options import QueryOptions, asking, asks
from lineage_merge.exporters import registry
from lineage_merge.exporters.exporter import Export
from lineage_merge.model.errors import ConfigError


@click.command(
    epilog=epilog(
        "lineage-merge export --to datahub --url http://datahub-gms:8080 --environment prod",
        "lineage-merge export --to datahub --out datahub.json --folder lineage",
        "lineage-merge export --to openlineage --url http://marquez:5000 -c lineage_merge.yml",
        "lineage-merge export --to graphml --out s3://docs/lineage.graphml --dag tickit_daily",
        "lineage-merge export --to neptune-csv --out copy",
        "lineage-merge export --to mermaid",
    )
)
@click.option(
    "--to",
    "name",
    required=True,
    type=click.Choice(tuple(registry.EXPORTERS)),
    help="the sink; docs/exporters.md says more of each",
)
@click.option(
    "--out",
    metavar="PLACE",
    help="the file, or for neptune-csv the folder, that is written; s3:// too  [default: standard output]",
)
@click.option("--url", metavar="URL", help="the server of datahub or openlineage, in place of a file")
@click.option("--token-env", metavar="NAME", help="the environment variable that holds the server's token")
@asks("text", formats=("text", "json"))
def export(asked: QueryOptions, name: str, out: str | None, url: str | None, token_env: str | None) -> None:
    """Take the lineage on: to DataHub, to OpenLineage's consumers, to files of other tools.

    Other settings of a sink are those of `sinks` in the configuration. With --dag, what the DAG knows;
    of datasets that other DAGs write too, DataHub is told the whole.
    """
    with asking(asked) as session:
        exporter = registry.EXPORTERS[name]
        given = {"out": out, "url": url, "token_env": token_env}
        settings = {
            **session.config.exporters.get(name, {}),
            **{key: value for key, value in given.items() if value},
        }
        if out and not url:
            settings.pop("url", None)  # the configuration's: whoever names a file wants a file
        settings = dict(registry.validate_settings({name: settings})[name])
        if not exporter.has_destination(settings):
            if not exporter.writes_stdout:
                raise ConfigError("", f"--to {name} needs --out")
            if asked.format == "json":
                raise ConfigError("", "--json tells what was written to --out: give it")
        registry.check_requirements(exporter, settings)
        with progress(not exporter.has_destination(settings)) as on_progress:
            sent = exporter.send(Export(session.graph, settings, session.environment, asked.dag, on_progress))
    told: dict[str, Any] = {"to": name, "environment": session.environment, "dag": asked.dag, **asdict(sent)}
    if asked.format == "json":
        print_json(told)
    elif sent.destination:
        click.echo(str(sent))
