"""The program: its commands under headings, each of which is imported when it is used."""

import os
from collections.abc import Iterator, Mapping, MutableMapping
from functools import cache
from importlib import import_module
from textwrap import shorten
from typing import Any

import click

from lineage_merge.cli.command import epilog
from lineage_merge.cli.command_list import COMMANDS
from lineage_merge.model.version import __version__

_LISTED = {name: listed for names in COMMANDS.values() for name, listed in names.items()}


@cache
def _command(name: str) -> click.Command:
    module, _, attribute = _LISTED[name].place.partition(":")
    declared: Any = getattr(import_module(f"lineage_merge.{module}"), attribute)
    if isinstance(declared, click.Command):
        return declared
    from lineage_merge.cli.question_commands import command_of

    return command_of(declared)


class _Commands(Mapping[str, click.Command]):
    """The commands by name, each imported on first use."""

    def __getitem__(self, name: str) -> click.Command:
        return _command(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_LISTED)

    def __len__(self) -> int:
        return len(_LISTED)


class Program(click.Group):
    """The group of commands, listed under headings. Its shell completion never prints an error."""

    def group_by_heading(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the headings with the names of their commands."""
        return ((heading, [*names]) for heading, names in COMMANDS.items())

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a line per common command, and one for the rare ones of a heading: the list fits a screen."""
        width = max(len(name) for name, listed in _LISTED.items() if listed.summary)
        formatter.write_paragraph()
        for title, commands in COMMANDS.items():
            formatter.write_heading(title)
            for name, listed in commands.items():
                if listed.summary:
                    text = shorten(listed.summary, formatter.width - width - 4, placeholder="...")
                    formatter.write(f"  {name:<{width}}  {text}\n")
            if rare := ", ".join(name for name, listed in commands.items() if not listed.summary):
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
