"""The command `archive-history`."""

import dataclasses
import sys
from datetime import UTC, datetime

import click

from lineage_merge.cli.command import command
from lineage_merge.cli.error_handling import echo_error, handle_errors, one_line, print_json, progress
from lineage_merge.cli.options import CommandSettings, as_json_or_text, with_configuration, without_progress


@command(
    "lineage-merge archive-history --config lineage_merge.yml",
    "lineage-merge archive-history -c lineage_merge.yml --cluster analytics --dry-run",
    "lineage-merge archive-history -c lineage_merge.yml --print",
    short_help="Store Redshift's system views in S3, since they keep seven days.",
)
@with_configuration
@click.option("--cluster", metavar="NAME", help="only this cluster or workgroup  [default: all]")
@click.option("--archive", metavar="s3://BUCKET/PREFIX", help="folder in S3, instead of query_log[].archive")
@click.option("--iam-role", metavar="ARN", help="role of UNLOAD, instead of query_log[].iam_role")
@click.option("--print", "print_sql", is_flag=True, help="print the SQL without running it")
@click.option("--dry-run", is_flag=True, help="print the intervals that would be written")
@as_json_or_text
@without_progress
def archive_history(
    settings: CommandSettings,
    cluster: str | None,
    archive: str | None,
    iam_role: str | None,
    print_sql: bool,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Store Redshift's system views in S3, since they keep seven days: run it every day.

    Redshift writes the views by UNLOAD, in intervals of at most a day, from two hours before the end of the
    last complete interval to now. An interrupted interval is written again. The catalog of columns is read
    through the Data API, and replaces the last one. A run reads the archive of a log that has one.
    """
    with handle_errors(), progress(quiet) as on_progress:
        config = settings.load(needs_scope=False)
        from lineage_merge.sources.query_log.logs import archive as archiving

        logs = archiving.with_archive(
            config.sources.get("query_log") or (),
            cluster=cluster or "",
            location=archive or "",
            iam_role=iam_role or "",
        )
        now = datetime.now(UTC)
        if print_sql:
            for log in logs:
                for sql in archiving.statements(log, archiving.due(log, now)):
                    click.echo(f"{sql};")
            return
        done, errors = archiving.archive_all(logs, now, on_progress, dry_run=dry_run)
    if as_json:
        print_json({"dry_run": dry_run, "archived": [dataclasses.asdict(archived) for archived in done]})
    else:
        for run in done:
            days = f"{run.intervals[0]} and {len(run.intervals) - 1} more" if run.intervals[1:] else ""
            what = days or "".join(run.intervals) or "nothing is due"
            verb = "would write" if dry_run else "wrote"
            click.echo(f"{run.warehouse}: {verb} {len(run.views)} views, {what}, to {run.archive}")
            for notice in run.notices:
                click.echo(f"  notice: {notice}", err=True)
    for error in errors:
        echo_error(f"error: {one_line(error.message)}", error.exit_code)
    if errors:
        sys.exit(errors[0].exit_code)
