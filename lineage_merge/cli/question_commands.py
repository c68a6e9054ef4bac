"""The command of a question, derived from its parameters."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, Literal, get_args, get_origin

import click

from lineage_merge.cli import completion, time_options
from lineage_merge.cli.answers import FORMATS, print_result
from lineage_merge.cli.command import Option, add_options, command
from lineage_merge.cli.query_options import QueryOptions, open_session, query_command
from lineage_merge.model.errors import QueryError
from lineage_merge.questions.question import Declared, Input, Question, ask, parameters_of

_COMPLETIONS: Mapping[Input | None, completion.Complete] = {
    Input.DATASET: completion.complete_datasets,
    Input.ELEMENT: completion.complete_datasets_and_jobs,
    Input.TAG: completion.complete_tags,
    Input.OWNER: completion.complete_owners,
}
_CALLBACKS: Mapping[Input | None, Any] = {
    Input.AGE: time_options.parse_age,
    Input.TIME: time_options.parse_since,
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
        asked = question(**values, **({"now": time_options.now_ms()} if has_clock else {}))
        check_usage(asked)
        with usage_errors():
            output_format = asked.output_format(options.format)
        with open_session(options) as session:
            print_answer(ask(asked, session), output_format, options.out)

    run.__name__ = question.question.replace("-", "_")
    run.__doc__ = question.__doc__
    formats = question.formats or FORMATS
    wrapped = with_options(parameters, query_command(question.default_format, formats=formats, out=out)(run))
    decorate = command(*question.examples, name=question.question, short_help=question.short_help or None)
    return decorate(wrapped)


def check_usage(question: Question[Any]) -> None:
    """Raise `UsageError` if parameters exclude each other."""
    flags = {declared.name: declared.flag for declared in parameters_of(type(question))}
    with usage_errors():
        question.check(lambda name: flags[name])


@contextmanager
def usage_errors() -> Iterator[None]:
    """Raise `UsageError` for `QueryError`: parameters are wrong, before a graph is opened."""
    try:
        yield
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
