"""The command `check`: policies of the configuration."""

from typing import TYPE_CHECKING

import click

from lineage_merge.cli import time_options
from lineage_merge.cli.answers import print_result
from lineage_merge.cli.command import Command
from lineage_merge.cli.error_handling import epilog
from lineage_merge.cli.query_options import QueryOptions, open_lineage, query_command
from lineage_merge.model.errors import PolicyViolated

if TYPE_CHECKING:
    from lineage_merge.query.tag_results import PolicyResult

FORMATS = ("table", "csv", "json", "sarif", "junit")


@click.command(
    cls=Command,
    short_help="Check the policies of the configuration.",
    epilog=epilog(
        "lineage-merge check --config lineage_merge.yml",
        "lineage-merge check --config lineage_merge.yml --folder lineage --policy no-pii-in-marts",
        "lineage-merge check --config lineage_merge.yml --format sarif --out policies.sarif",
        "lineage-merge check --config lineage_merge.yml --format junit --out policies.xml",
    ),
)
@click.option(
    "--policy", "names", multiple=True, metavar="NAME", help="policy to check; repeatable  [default: all]"
)
@click.option(
    "--out", "location", metavar="FILE", help="file for --format, local or s3://; the table is printed"
)
@query_command("table", formats=FORMATS)
def check(options: QueryOptions, names: tuple[str, ...], location: str | None) -> None:
    """Check the policies of the configuration, and list violations with their path and fix.

    Nothing is written. The exit code is 14 if a policy with the severity error is violated. With --dag, only
    datasets of this DAG are checked, along the lineage of all DAGs.
    """
    if location and options.format == "table":
        raise click.UsageError("--out requires --format csv, json, sarif or junit")
    with open_lineage(options) as lineage:
        found = lineage.check(names, now=time_options.now_ms())
        output_format = options.format
        if location:
            from lineage_merge.infra import storage

            storage.write_text(location, _text(found, output_format))
            output_format = "table"
        if output_format == "table":
            print_result(found, output_format)
        else:
            if found.note:
                click.echo(found.note, err=True)
            click.echo(_text(found, output_format).encode(), nl=False)
        if found.failed:
            raise PolicyViolated(f"policies are violated: {found.check.summary}")


def _text(found: "PolicyResult", output_format: str) -> str:
    """Return the result as CSV, JSON, SARIF or JUnit XML. Unpaired surrogates become ``?``."""
    from lineage_merge.questions.formats.json_text import json_text

    if output_format == "csv":
        text = found.to_csv().removesuffix("\n")
    elif output_format == "junit":
        text = found.to_junit()
    else:
        text = json_text(found.to_sarif() if output_format == "sarif" else found.to_dict())
    return text.encode("utf-8", "replace").decode() + "\n"
