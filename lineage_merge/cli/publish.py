"""The command `publish`."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lineage_merge.cli.command import command
from lineage_merge.cli.error_handling import handle_errors, print_json
from lineage_merge.cli.options import as_json_or_text

if TYPE_CHECKING:
    from lineage_merge.orchestration.publish import Published


@command(
    "lineage-merge publish --s3 s3://artifacts/lineage_merge",
    "lineage-merge publish --s3 s3://artifacts/lineage_merge --with-dependencies",
    short_help="Upload the files of a Glue or EMR Serverless job to S3.",
)
@click.option("--s3", "prefix", required=True, metavar="s3://BUCKET/PREFIX", help="destination prefix")
@click.option(
    "--with-dependencies",
    is_flag=True,
    help="include dependencies, for jobs without internet access; downloaded by pip",
)
@click.option(
    "--glue-version",
    type=click.Choice(["5.0", "5.1", "6.0"]),
    default="5.0",
    show_default=True,
    help="version of Glue, whose Python --with-dependencies is for (5: 3.11, 6: 3.13)",
)
@click.option(
    "--wheels",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="folder of wheels for the Python of the job on x86-64 Linux: searched by --with-dependencies, "
    "without it published as they are",
)
@click.option(
    "--emr-environment",
    "environment",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="packed Python, 3.11 or newer, with this package, for EMR Serverless (see docs/emr.md)",
)
@as_json_or_text
def publish(
    prefix: str,
    with_dependencies: bool,
    glue_version: str,
    wheels: Path | None,
    environment: Path | None,
    as_json: bool,
) -> None:
    """Upload the files of a Glue or EMR Serverless job to S3: its script and this package.

    Prints the arguments for starting the job. Airflow's task group determines them itself.
    """
    with handle_errors():
        from lineage_merge.orchestration import publish as publishing

        index = ("--no-index", "--find-links", str(wheels)) if wheels and with_dependencies else ()
        published = publishing.publish(
            prefix,
            with_dependencies=with_dependencies,
            wheels=wheels,
            environment=environment,
            glue_version=glue_version,
            index_options=index,
        )
    if as_json:
        print_json(dataclasses.asdict(published))
    else:
        click.echo("\n".join(_lines(published)))


def _lines(published: "Published") -> Iterator[str]:
    """Yield the published objects, and the arguments of jobs that use them."""
    yield from published.locations
    yield "\nGlue, in addition to the arguments of a step:"
    yield f"  script location: {published.script}"
    yield from (f"  {name} {value}" for name, value in published.glue.items())
    yield "\nEMR Serverless:"
    if published.emr_serverless:
        yield f"  entryPoint: {published.script}"
        yield f"  sparkSubmitParameters: {published.emr_serverless}"
    else:
        yield "  not published: requires --emr-environment FILE (a packed Python)"
