"""The command `check`, whose answer may also be written to a file, and fails."""

from typing import TYPE_CHECKING

import click

from lineage_merge.cli.answers import print_result, text_of
from lineage_merge.cli.question_commands import command_of
from lineage_merge.model.errors import PolicyViolated
from lineage_merge.questions.check import CheckQuestion

if TYPE_CHECKING:
    from lineage_merge.questions.check import PolicyResult


def _print_check(result: "PolicyResult", output_format: str, out: str | None) -> None:
    """Print violations, with `out` as a table, and write them to it. Raises `PolicyViolated`."""
    if out:
        from lineage_merge.infra import storage

        storage.write_text(out, text_of(result, output_format).encode("utf-8", "replace").decode())
    print_result(result, "table" if out else output_format)
    if result.failed:
        raise PolicyViolated(f"policies are violated: {result.check.summary}")


_OUT = click.option(
    "--out", "answer_file", metavar="FILE", help="file for --format, local or s3://; the table is printed"
)
check = command_of(CheckQuestion, _print_check, _OUT)
