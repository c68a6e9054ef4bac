"""The command `help`: help of a command, or of a topic that concerns several."""

from collections.abc import Callable, Iterable, Mapping

import click

from lineage_merge.cli.command import command
from lineage_merge.cli.exit_codes import EXIT_CODES

ENVIRONMENT_VARIABLES = (
    ("LINEAGE_MERGE_CONFIG", "configuration file, as --config"),
    (
        "LINEAGE_MERGE_<KEY>",
        "key of the configuration, such as LINEAGE_MERGE_GREMLIN_ENDPOINT",
    ),
    ("LINEAGE_MERGE_GRAPH_FILE", "folder of the embedded graph, as --graph-file"),
    ("LINEAGE_MERGE_HOME", "folder of the embedded graphs  [default: ~/.local/share/lineage-merge]"),
    ("LINEAGE_MERGE_CACHE", "folder of downloaded jars  [default: ~/.cache/lineage-merge]"),
    ("LINEAGE_MERGE_MAVEN_REPOSITORY", "Maven repository of the jars of serve and of Spark's Kafka source"),
    ("LINEAGE_MERGE_COMPLETION_SECONDS", "limit of reading names for shell completion  [default: 0.5]"),
    ("LINEAGE_MERGE_RECEIVER_TOKEN", "bearer token with which capture.install sends to a receiver"),
    ("LINEAGE_MERGE_RECEIVER_LANDING", "s3:// prefix to which the receiver in AWS Lambda writes"),
    ("LINEAGE_MERGE_RECEIVER_TOKEN_SECRET", "secret with the bearer tokens of the receiver in AWS Lambda"),
    ("LINEAGE_MERGE_RECEIVER_NO_TOKEN", "true: the receiver in AWS Lambda accepts requests without a token"),
    ("LINEAGE_MERGE_TRACEBACK", "1: print the traceback of an internal error"),
    ("NO_COLOR", "any value: no colours"),
    ("JAVA_HOME", "Java 17 or newer for Spark and serve"),
)

_COMPLETION = """\
Add one line to the shell's startup file, then open a new shell:

  bash (4.4+), ~/.bashrc:  eval "$(_LINEAGE_MERGE_COMPLETE=bash_source lineage-merge)"
  zsh, ~/.zshrc:           eval "$(_LINEAGE_MERGE_COMPLETE=zsh_source lineage-merge)"
  fish, ~/.config/fish/completions/lineage-merge.fish:
                           _LINEAGE_MERGE_COMPLETE=fish_source lineage-merge | source

TAB then completes commands, options, and names in the graph: datasets, columns after "#", jobs,
environments and DAGs.
"""


def _rows(title: str, rows: Iterable[tuple[str, str]]) -> Callable[[click.HelpFormatter], None]:
    """Return a function that writes a section of rows."""

    def write(formatter: click.HelpFormatter) -> None:
        with formatter.section(title):
            formatter.write_dl(list(rows))

    return write


def _configuration(formatter: click.HelpFormatter) -> None:
    from lineage_merge.orchestration.configuration import CONFIGURATION

    formatter.write_text(
        "The configuration is one YAML file (--config). Each key is also an environment variable and a flag"
        " (spline.arango.hosts: LINEAGE_MERGE_SPLINE_ARANGO_HOSTS, --spline-arango-hosts). Flags take"
        " precedence over variables, variables over the file."
    )
    formatter.write_paragraph()
    _rows("Keys", ((key.dotted, key.schema["description"]) for key in CONFIGURATION.settable))(formatter)


# A line about each topic, and what writes its text.
TOPICS: Mapping[str, tuple[str, Callable[[click.HelpFormatter], None]]] = {
    "exit-codes": (
        "meaning of exit codes, and what to do",
        _rows("Exit codes", [(str(code.code), code.text) for code in EXIT_CODES]),
    ),
    "configuration": ("all keys of the configuration", _configuration),
    "environment-variables": (
        "variables that commands read",
        _rows("Environment variables", ENVIRONMENT_VARIABLES),
    ),
    "completion": ("completion in bash, zsh and fish", lambda formatter: formatter.write(_COMPLETION)),
}


def _complete(context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    group = context.parent.command if context.parent else None
    names = [*(group.commands if isinstance(group, click.Group) else ()), *TOPICS]
    return [name for name in names if name.startswith(typed)]


@command(
    "lineage-merge help run",
    "lineage-merge help exit-codes",
    name="help",
    short_help="Show the help of a command or topic, such as exit-codes.",
)
@click.argument("topic", required=False, metavar="[COMMAND|TOPIC]", shell_complete=_complete)
@click.pass_context
def help_command(context: click.Context, topic: str | None) -> None:
    """Show the help of a command or topic: exit-codes, configuration, environment-variables, completion."""
    program = context.parent or context
    group = program.command
    command = group.commands.get(topic or "") if isinstance(group, click.Group) else None
    if topic is None:
        click.echo(program.get_help())
        formatter = program.make_formatter()
        formatter.write_paragraph()
        _rows("Topics", ((name, summary) for name, (summary, _) in TOPICS.items()))(formatter)
        click.echo(formatter.getvalue(), nl=False)
    elif command:
        with click.Context(command, info_name=topic, parent=program) as inner:
            click.echo(command.get_help(inner))
    elif topic in TOPICS:
        formatter = program.make_formatter()
        TOPICS[topic][1](formatter)
        click.echo(formatter.getvalue(), nl=False)
    else:
        known = ", ".join(TOPICS)
        raise click.UsageError(f"unknown command or topic: {topic}. Topics: {known}")
