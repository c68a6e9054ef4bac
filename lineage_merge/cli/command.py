"""Commands with a short help (`--help`) and a complete one (`--help-all`), and the group with its sections.

An option of class `Option` with ``more=True`` appears only in `--help-all`, under the heading `section`.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
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


def rare_option(*declarations: str, section: str = GENERAL, **attributes: Any) -> Callable[[Any], Any]:
    """Return the decorator of an option that only `--help-all` lists."""
    return click.option(*declarations, cls=Option, more=True, section=section, **attributes)


class Command(click.Command):
    """A command whose `--help` has the common options, and whose `--help-all` has all, by section."""

    def __init__(self, *args: Any, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        has_more = any(isinstance(each, Option) and each.more for each in self.params)
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
    found: dict[str, list[tuple[str, str]]] = {GENERAL: []}
    for each in command.get_params(ctx):
        if isinstance(each, Option) and each.more and not everything:
            continue
        record = each.get_help_record(ctx) if isinstance(each, click.Option) else None
        if record:
            section = each.section if everything and isinstance(each, Option) else GENERAL
            found.setdefault(section, []).append(record)
    return {title: records for title, records in found.items() if records}


def _show_all(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


class Group(click.Group):
    """A group that lists its commands under headings.

    `headings`: names of commands by heading; `rare`: those that share the last line of their heading.
    """

    def __init__(
        self,
        *args: Any,
        headings: Mapping[str, Sequence[str]] | None = None,
        rare: Collection[str] = (),
        **attributes: Any,
    ) -> None:
        super().__init__(*args, **attributes)
        self.headings = headings or {}
        self.rare = rare

    def by_heading(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the headings with the names of their commands; commands without a heading are last."""
        listed = {name for names in self.headings.values() for name in names}
        others = [name for name in sorted(self.commands) if name not in listed]
        for title, names in (*self.headings.items(), ("Other", others)):
            if found := [name for name in names if name in self.commands]:
                yield title, found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a line per common command, and one for the rare ones of a heading: the list fits a screen."""
        width = max((len(name) for name in self.commands if name not in self.rare), default=0)
        formatter.write_paragraph()
        for title, names in self.by_heading():
            formatter.write_heading(title)
            for name in names:
                if name not in self.rare:
                    text = self.commands[name].get_short_help_str(formatter.width - width - 4)
                    formatter.write(f"  {name:<{width}}  {text}\n")
            if rare := ", ".join(name for name in names if name in self.rare):
                formatter.write(f"  {'also':<{width}}  {rare}\n")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands only: the usage line has the options."""
        self.format_commands(ctx, formatter)
