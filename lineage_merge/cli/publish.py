"""The command `publish`."""

import dataclasses
from pathlib import Path

import click

from lineage_merge.cli.command import command
from lineage_merge.cli.error_handling import handle_errors, make_console, print_json
from lineage_merge.cli.options import as_json_or_text


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
    "--wheels",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="folder of wheels for Python 3.11 on x86-64 Linux: searched by --with-dependencies, "
    "without it published as they are",
)
@click.option(
    "--emr-environment",
    "environment",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="packed Python 3.11 with this package, for EMR Serverless (see docs/airflow.md)",
)
@as_json_or_text
def publish(
    prefix: str, with_dependencies: bool, wheels: Path | None, environment: Path | None, as_json: bool
) -> None:
    """Upload the files of a Glue or EMR Serverless job to S3: its script and this package.

    Prints the arguments for starting the job. Airflow's task group determines them itself.
    """
    from lineage_merge.cli.printing import print_published

    with handle_errors():
        from lineage_merge.orchestration import publish as publishing

        index = ("--no-index", "--find-links", str(wheels)) if wheels and with_dependencies else ()
        published = publishing.publish(
            prefix,
            with_dependencies=with_dependencies,
            wheels=wheels,
            environment=environment,
            index_options=index,
        )
    if as_json:
        print_json(dataclasses.asdict(published))
    else:
        print_published(make_console(), published)
