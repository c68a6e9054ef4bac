"""Commands that check: the environment of a run (`doctor`), node and edge files (`validate`)."""

import dataclasses
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING

import click

from lineage_merge.cli.command import command
from lineage_merge.cli.error_handling import handle_errors, make_console, print_json, progress
from lineage_merge.cli.options import CommandSettings, as_json_or_text, with_configuration, without_progress
from lineage_merge.model.errors import ConfigError, IntermediateError

if TYPE_CHECKING:
    from lineage_merge.sources.diagnosis import Diagnosis


_MAX_FLAWS = 100


@command(
    "lineage-merge doctor --config lineage_merge.yml",
    "lineage-merge doctor -c lineage_merge.yml --json",
    short_help="Check connections and permissions, and print fixes.",
)
@with_configuration
@as_json_or_text
def doctor(settings: CommandSettings, as_json: bool) -> None:
    """Check the connections and permissions that a run needs, and print how to fix problems.

    The exit code is 0 if no check failed, otherwise that of the first failure. The checks create and delete
    one vertex with a unique id, and one object under gremlin.bulk.s3. They take at most half a minute.
    """
    from lineage_merge.sources.diagnosis import Diagnosis

    with handle_errors():
        try:
            config = settings.load()
        except ConfigError as error:
            fix = "correct the file, flag or variable; see lineage-merge run --help-all for all keys"
            findings = [
                Diagnosis(
                    "configuration", "failed", line.removeprefix("configuration: "), fix, error.exit_code
                )
                for line in error.lines
            ]
        else:
            from lineage_merge.orchestration.doctor.examination import examine

            scope = f"{config.dag_name} in {config.environment}"
            findings = [Diagnosis("configuration", "ok", scope), *examine(config)]
        code = next((finding.exit_code or 1 for finding in findings if finding.state == "failed"), 0)
        if as_json:
            print_json({"exit_code": code, "findings": [dataclasses.asdict(finding) for finding in findings]})
        else:
            console = make_console()
            for line, state in as_lines(findings, console.encoding):
                console.print(line, style=colours[state], soft_wrap=True, markup=False)
    # Do not wait for a check that hangs.
    sys.stdout.flush()
    sys.exit(code)


@command("lineage-merge validate lineage", short_help="Check node and edge files against the JSON Schemas.")
@click.argument("folder", metavar="DIR")
@as_json_or_text
@without_progress
def validate(folder: str, as_json: bool, quiet: bool) -> None:
    """Check the node and edge files of DIR against the JSON Schemas."""
    with handle_errors(), progress(quiet) as on_progress:
        from lineage_merge.cli.interrupt import session
        from lineage_merge.config import SparkOptions
        from lineage_merge.graph_format.validation import find_flaws
        from lineage_merge.infra.spark_errors import own_errors

        with session(SparkOptions(), on_progress) as spark, own_errors():
            on_progress(f"checking {folder}")
            elements, flaws = find_flaws(spark, folder, _MAX_FLAWS)
    if as_json:
        print_json({"elements": elements, "flaws": [flaw._asdict() for flaw in flaws]})
    else:
        for flaw in flaws:
            location = f"{flaw.kind}: {flaw.element}"
            click.echo(
                f"{location}: {flaw.field}: {flaw.problem}" if flaw.field else f"{location}: {flaw.problem}"
            )
        more = " or more" if len(flaws) == _MAX_FLAWS else ""
        click.echo(f"{elements} elements, {len(flaws) or 'no'} flaw{'s' * (len(flaws) != 1)}{more}")
    if flaws:
        sys.exit(IntermediateError.exit_code)


colours = {"ok": "green", "warning": "yellow", "failed": "bold red", "skipped": "dim"}
_MARKS = {"ok": "✓", "warning": "!", "failed": "✗", "skipped": "-"}
_PLAIN_MARKS = {"ok": "+", "warning": "!", "failed": "x", "skipped": "-"}


def as_lines(findings: Sequence["Diagnosis"], encoding: str) -> Iterator[tuple[str, str]]:
    """``✗ failed   ArangoDB login: problem. Fix: command``, and the state.

    States are words, too, for output without colours; marks are ASCII if `encoding` is not UTF.
    """
    marks = _MARKS if encoding.lower().startswith("utf") else _PLAIN_MARKS
    width = max(len(state) for state in _MARKS)
    # Those that were skipped for one reason are one line.
    groups = [
        [*alike]
        for _, alike in groupby(findings, lambda finding: (finding.state, finding.message, finding.fix))
    ]
    for alike, following in zip_longest(groups, groups[1:]):
        state, message, fix = alike[0].state, alike[0].message, alike[0].fix
        checks = ", ".join(diagnosis.check for diagnosis in alike)
        # The fix of several problems of one check follows the last one.
        if following and (following[0].check, following[0].fix) == (alike[-1].check, fix):
            fix = ""
        remedy = f"{'' if message.endswith('?') else '.'} Fix: {fix}" if fix else ""
        yield f"{marks[state]} {state:<{width}}  {checks}: {message}{remedy}", state
