"""The program: its commands under headings, each of which is imported when it is used."""

import os
from collections.abc import Iterator, Mapping, MutableMapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from lineage_merge.cli.command import epilog
from lineage_merge.model.version import __version__

if TYPE_CHECKING:
    from lineage_merge.questions.question import Question

_ASK = "Ask"
# Where the commands are, but for those of questions, in the order of `lineage-merge --help`.
_PLACES: Mapping[str, Mapping[str, str]] = {
    "Build": {
        "init": "init.init",
        "demo": "demo.demo",
        "run": "merging.run",
        "build": "merging.build",
        "load": "merging.load",
        "sql": "sql.sql",
        "review": "review.review",
        "receive": "servers.receive",
    },
    _ASK: {
        "diff": "composed_commands.diff",
        "history": "composed_commands.history",
        "check": "composed_commands.check",
    },
    "Share": {
        "html": "page.html",
        "export": "export.export",
        "report": "dag.report",
        "mcp": "servers.mcp",
        "serve": "servers.serve",
    },
    "Operate": {
        "doctor": "checks.doctor",
        "validate": "checks.validate",
        "remove": "dag.remove",
        "publish": "publish.publish",
        "help": "help_topics.help_command",
    },
}
# Without a line of their own there.
_RARE = (
    *("build", "load", "receive", "no-consumer", "no-producer", "cycles", "layers", "report", "serve"),
    *("validate", "remove", "publish"),
)


@cache
def _command(name: str) -> click.Command:
    for places in _PLACES.values():
        if name in places:
            module, _, attribute = places[name].partition(".")
            command: click.Command = getattr(import_module(f"lineage_merge.cli.{module}"), attribute)
            return command
    from lineage_merge.cli.question_commands import command_of

    return command_of(_questions()[name])


@cache
def _questions() -> "Mapping[str, type[Question[Any]]]":
    """Return the questions whose commands are derived, by name; others are part of a command."""
    from lineage_merge.query.lineage import QUESTIONS

    return {
        name: question
        for name, question in QUESTIONS.items()
        if question.examples and name not in _PLACES[_ASK]
    }


class _Commands(Mapping[str, click.Command]):
    """The commands by name, each imported on first use."""

    def __getitem__(self, name: str) -> click.Command:
        return _command(name)

    def __iter__(self) -> Iterator[str]:
        return (name for _, names in _by_heading() for name in names)

    def __len__(self) -> int:
        return len(list(iter(self)))


def _by_heading() -> Iterator[tuple[str, list[str]]]:
    for heading, places in _PLACES.items():
        yield heading, [*(_questions() if heading == _ASK else ()), *places]


class Program(click.Group):
    """The group of commands, listed under headings. Its shell completion never prints an error."""

    def by_heading(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the headings with the names of their commands."""
        return _by_heading()

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a line per common command, and one for the rare ones of a heading: the list fits a screen."""
        width = max(len(name) for name in self.commands if name not in _RARE)
        formatter.write_paragraph()
        for title, names in self.by_heading():
            formatter.write_heading(title)
            for name in names:
                if name not in _RARE:
                    text = self.commands[name].get_short_help_str(formatter.width - width - 4)
                    formatter.write(f"  {name:<{width}}  {text}\n")
            if rare := ", ".join(name for name in names if name in _RARE):
                formatter.write(f"  {'also':<{width}}  {rare}\n")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands only: the usage line has the options."""
        self.format_commands(ctx, formatter)

    def _main_shell_completion(
        self, ctx_args: MutableMapping[str, Any], prog_name: str, complete_var: str | None = None
    ) -> None:
        variable = complete_var or f"_{prog_name}_COMPLETE".replace("-", "_").upper()
        if not os.environ.get(variable):
            return
        from lineage_merge.cli.completion import completing

        with completing(variable):
            super()._main_shell_completion(ctx_args, prog_name, variable)


@click.group(
    cls=Program,
    commands=_Commands(),
    options_metavar="[--version] [--help]",
    subcommand_metavar="COMMAND [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=epilog("lineage-merge demo", "lineage-merge run --config lineage_merge.yml"),
)
@click.version_option(__version__, prog_name="lineage-merge")
def main() -> None:
    """Merge the lineage of Spark, dbt and SQL into one graph in Neptune."""
