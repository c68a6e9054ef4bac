"""The command of a question, derived from its parameters."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any, Literal, get_args, get_origin

import click

from lineage_merge.cli import completion
from lineage_merge.cli.answers import FORMATS, print_result
from lineage_merge.cli.command import Option, add_options, command
from lineage_merge.cli.query_options import QueryOptions, open_session, query_command
from lineage_merge.model import times
from lineage_merge.model.errors import QueryError
from lineage_merge.questions.question import Declared, Input, Question, ask, parameters_of

_COMPLETIONS: Mapping[Input | None, completion.Complete] = {
    Input.DATASET: completion.complete_datasets,
    Input.ELEMENT: completion.complete_datasets_and_jobs,
    Input.TAG: completion.complete_tags,
    Input.OWNER: completion.complete_owners,
}


def now_ms() -> int:
    """Return the time in ms since 1970. Tests replace it."""
    return time.time_ns() // 1_000_000


def _make_parser(
    parse: Callable[[str], int],
) -> Callable[[click.Context, click.Parameter, str | None], int | None]:
    """Return the callback of an option with a duration or time."""

    def callback(_context: click.Context, _parameter: click.Parameter, value: str | None) -> int | None:
        try:
            return None if value is None else parse(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return callback


# ``1d`` in ms; ``2026-11-01`` (UTC), or ``1d`` ago, in ms since 1970.
parse_age = _make_parser(times.parse_age)
_CALLBACKS: Mapping[Input | None, Any] = {
    Input.AGE: parse_age,
    Input.TIME: _make_parser(lambda text: times.parse_time(text, now_ms())),
}


def command_of(
    question: type[Question[Any]],
    print_answer: Callable[[Any, str, str | None], None] = print_result,
    out: Callable[[Any], Any] | None = None,
) -> click.Command:
    """Return the command of a question. `print_answer`: of `out`, the option for a file, and a format."""
    parameters = parameters_of(question)
    has_clock = any(field.name == "now" for field in fields(question))  # type: ignore[arg-type]

    def run(options: QueryOptions, **values: Any) -> None:
        asked = question(**values, **({"now": now_ms()} if has_clock else {}))
        output_format = check_format(asked, options.format)
        with open_session(options) as session:
            print_answer(ask(asked, session), output_format, options.out)

    run.__name__ = question.question.replace("-", "_")
    run.__doc__ = question.__doc__
    formats = question.formats or FORMATS
    wrapped = with_options(parameters, query_command(question.default_format, formats=formats, out=out)(run))
    decorate = command(*question.examples, name=question.question, short_help=question.short_help or None)
    return decorate(wrapped)


def check_format(question: Question[Any], output_format: str) -> str:
    """Return the format of the answer for a requested one.

    Raises `UsageError` if there is none, or if parameters exclude each other: before a graph is opened.
    """
    flags = {declared.name: declared.flag for declared in parameters_of(type(question))}
    try:
        question.check(lambda name: flags[name])
        return question.output_format(output_format)
    except QueryError as error:
        raise click.UsageError(error.message) from None


def with_options(parameters: Iterable[Declared], command: Any, *, is_optional: bool = False) -> Any:
    """Add the options of a question to a command. `is_optional`: of several, all None by default."""
    on_command = (declared for declared in parameters if "command" in declared.parameter.on)
    return add_options(command, [_option(declared, is_optional) for declared in on_command])


def _option(declared: Declared, is_optional: bool) -> Any:
    parameter = declared.parameter
    if parameter.is_argument:
        return click.argument(
            declared.name,
            metavar=parameter.metavar,
            required=declared.is_required,
            shell_complete=_COMPLETIONS.get(declared.input),
        )
    attributes: dict[str, Any] = {
        "metavar": parameter.metavar or None,
        "multiple": declared.is_list,
        "callback": _CALLBACKS.get(declared.input),
        "shell_complete": _COMPLETIONS.get(declared.input),
    }
    if declared.input in _CALLBACKS:
        attributes["type"] = str
    elif get_origin(declared.value_type) is Literal:
        attributes["type"] = click.Choice(get_args(declared.value_type))
    elif declared.value_type is int:
        attributes["type"] = click.IntRange(1)
    if parameter.value_if_empty is not None:
        attributes |= {"is_flag": False, "flag_value": parameter.value_if_empty}
    if declared.value_type is bool:
        attributes |= {"is_flag": True}
    else:
        default = None if is_optional else declared.default
        attributes |= {"default": default, "show_default": bool(default)}
    note = f"  [default: {parameter.default}]" if parameter.default else ""
    return click.option(
        declared.flag,
        declared.name,
        cls=Option,
        more=parameter.is_rare,
        help=f"{parameter.help}{note}",
        **attributes,
    )
