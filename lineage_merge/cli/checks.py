"""The commands that only look: at what a run needs, and at node and edge files."""

import dataclasses
import sys

import click

from lineage_merge.cli.error_handling import epilog, make_console, print_json, progress, reported
from lineage_merge.cli.options import Settings, as_json_or_text, configured, without_progress
from lineage_merge.model.errors import ConfigError, IntermediateError

_MOST_FLAWS = 100


@click.command(
    epilog=epilog(
        "lineage-merge doctor --config lineage_merge.yml",
        "lineage-merge doctor -c lineage_merge.yml --json",
    )
)
@configured
@as_json_or_text
def doctor(settings: Settings, as_json: bool) -> None:
    """Check each connection and right that a run needs, and say how to mend what is wrong.

    Ends with 0 where nothing failed, otherwise with the exit code of the first failure. Writes
    nothing but a vertex with an id of its own into the graph, and an object under gremlin.bulk.s3,
    which it takes away again. Takes half a minute at most.
    """
    from lineage_merge.cli.findings import as_lines, colours
    from lineage_merge.orchestration.doctor import CONFIGURATION, Finding

    with reported():
        try:
            config = settings.load()
        except ConfigError as error:
            mend = "correct the file, or the flag or variable; lineage-merge run --help lists all keys"
            found = [Finding(CONFIGURATION, "failed", error.message, mend, error.exit_code)]
        else:
            from lineage_merge.orchestration.doctor.examination import examine

            told = f"{config.dag_name} in {config.environment}"
            found = [Finding(CONFIGURATION, "ok", told), *examine(config)]
        code = next((each.exit_code or 1 for each in found if each.state == "failed"), 0)
        if as_json:
            print_json({"exit_code": code, "findings": [dataclasses.asdict(each) for each in found]})
        else:
            console = make_console()
            for line, state in as_lines(found, console.encoding):
                console.print(line, style=colours[state], soft_wrap=True, markup=False)
    # Not waiting for a check that hangs.
    sys.stdout.flush()
    sys.exit(code)


@click.command(
    epilog=epilog(
        "lineage-merge validate lineage",
    )
)
@click.argument("folder", metavar="DIR")
@as_json_or_text
@without_progress
def validate(folder: str, as_json: bool, quiet: bool) -> None:
    """Check the node and edge files of DIR against the JSON Schemas."""
    with reported(), progress(quiet) as on_progress:
        from lineage_merge.cli.interrupt import session
        from lineage_merge.config import SparkOptions
        from lineage_merge.graph_format import files
        from lineage_merge.infra.spark_session import own_errors

        with session(SparkOptions(), on_progress) as spark, own_errors():
            on_progress(f"checking {folder}")
            elements, flaws = files.flaws(spark, folder, _MOST_FLAWS)
    if as_json:
        print_json({"elements": elements, "flaws": [flaw._asdict() for flaw in flaws]})
    else:
        for flaw in flaws:
            place = (
                f"{flaw.kind}: {flaw.element}: {flaw.field}" if flaw.field else f"{flaw.kind}: {flaw.element}"
            )
            click.echo(f"{place}: {flaw.problem}")
        more = " or more" if len(flaws) == _MOST_FLAWS else ""
        click.echo(f"{elements} elements, {len(flaws) or 'no'} flaw{'s' * (len(flaws) != 1)}{more}")
    if flaws:
        sys.exit(IntermediateError.exit_code)
