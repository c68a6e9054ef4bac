"""The commands that ask."""

import click

from lineage_merge.cli.check import check
from lineage_merge.cli.diff import diff
from lineage_merge.cli.history import history
from lineage_merge.cli.question_commands import command_of
from lineage_merge.cli.tags import tags
from lineage_merge.query.lineage import QUESTIONS

COMMANDS: tuple[click.Command, ...] = (
    *map(command_of, QUESTIONS.values()),
    diff,
    history,
    tags,
    check,
)
