"""Commands with a short help (`--help`) and a complete one (`--help-all`).

An option of class `Option` with ``more=True`` appears only in `--help-all`, under the heading `section`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import click

GENERAL = "Options"
_ALL = "lineage_merge.help_all"


class Option(click.Option):
    """An option of a section of the complete help; `more`: it is left out of the short help."""

    def __init__(self, *args: Any, section: str = GENERAL, more: bool = False, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.section = section
        self.more = more


def epilog(*examples: str) -> str:
    """Return the end of a command's help: examples."""
    lines = "\n".join(f"  {example}" for example in examples)
    return f"\b\nExamples:\n{lines}"


def command(*examples: str, **attributes: Any) -> Callable[[Any], "Command"]:
    """Return the decorator of a command; its help ends with the examples."""
    return click.command(cls=Command, epilog=epilog(*examples), **attributes)


def rare_option(*declarations: str, section: str = GENERAL, **attributes: Any) -> Callable[[Any], Any]:
    """Return the decorator of an option that only `--help-all` lists."""
    return click.option(*declarations, cls=Option, more=True, section=section, **attributes)


def add_options(command: Any, options: Iterable[Callable[[Any], Any]]) -> Any:
    """Add options to a function that becomes a command, in this order."""
    for option in reversed([*options]):
        command = option(command)
    return command


class Command(click.Command):
    """A command whose `--help` has the common options, and whose `--help-all` has all, by section."""

    def __init__(self, *args: Any, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        has_more = any(isinstance(param, Option) and param.more for param in self.params)
        self._help_all = click.Option(
            ["--help-all"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            hidden=not has_more,
            callback=_show_all,
            help="Show all options and exit.",
        )

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters with `--help-all` and `--help`."""
        *own, help_option = super().get_params(ctx)
        return [*own, self._help_all, help_option]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by section."""
        for title, options in sections(self, ctx, everything=bool(ctx.meta.get(_ALL))).items():
            with formatter.section(title):
                formatter.write_dl(options)


def sections(
    command: click.Command, ctx: click.Context, *, everything: bool
) -> Mapping[str, list[tuple[str, str]]]:
    """Return the help records of a command's options by section; `everything`: also the rare ones."""
    sections: dict[str, list[tuple[str, str]]] = {GENERAL: []}
    for param in command.get_params(ctx):
        if isinstance(param, Option) and param.more and not everything:
            continue
        record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
        if record:
            section = param.section if everything and isinstance(param, Option) else GENERAL
            sections.setdefault(section, []).append(record)
    return {title: records for title, records in sections.items() if records}


def _show_all(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()
