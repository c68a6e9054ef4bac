"""The command that puts the job into S3."""

import dataclasses
from pathlib import Path

import click

from lineage_merge.cli.error_handling import epilog, make_console, print_json, reported
from lineage_merge.cli.options import as_json_or_text


@click.command(
    epilog=epilog(
        "lineage-merge publish --s3 s3://artifacts/lineage_merge",
        "lineage-merge publish --s3 s3://artifacts/lineage_merge --with-dependencies",
    )
)
@click.option("--s3", "prefix", required=True, metavar="s3://BUCKET/PREFIX", help="where all of it goes")
@click.option(
    "--with-dependencies",
    is_flag=True,
    help="also what the package depends on, for a job without internet; pip fetches it now",
)
@click.option(
    "--wheels",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="a folder of wheels for Python 3.11 on x86-64 Linux: where --with-dependencies looks, "
    "and what is taken as it is without that",
)
@click.option(
    "--emr-environment",
    "environment",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="a packed Python 3.11 with this package, for EMR Serverless (docs/airflow.md says how)",
)
@as_json_or_text
def publish(
    prefix: str, with_dependencies: bool, wheels: Path | None, environment: Path | None, as_json: bool
) -> None:
    """Put what a Glue or EMR Serverless job needs into S3: its script and this package.

    Prints the arguments that the job is started with. Airflow's task group finds them by itself.
    """
    from lineage_merge.cli.printing import print_published

    with reported():
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
