"""Shell completion of names in the graph. It starts no server, prints no errors and ends within a second.

The script for bash also completes URIs and ids.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class, split_arg_string

if TYPE_CHECKING:
    from lineage_merge.cli.completion_reading import Selected

# Limit of reading names; starting Python takes the rest of a second.
_SECONDS = 0.5
_SECONDS_VARIABLE = "LINEAGE_MERGE_COMPLETION_SECONDS"
_ENDPOINTS = ("endpoint", "key_gremlin_endpoint")

Complete = Callable[[click.Context, click.Parameter, str], list[str]]


def _completion(names: str) -> Complete:
    """Return the completion of names of a kind of `COMPLETIONS`: none instead of an error."""

    def complete(context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
        deadline = time.monotonic() + float(os.environ.get(_SECONDS_VARIABLE) or _SECONDS)
        try:
            from lineage_merge.cli.completion_reading import COMPLETIONS

            return COMPLETIONS[names](_select(context, deadline), typed)
        except Exception:  # noqa: BLE001 - the command itself reports errors
            return []

    return complete


complete_datasets = _completion("datasets")
complete_jobs = _completion("jobs")
complete_environments = _completion("environments")
complete_dags = _completion("dags")
complete_tags = _completion("tags")
complete_owners = _completion("owners")


def complete_datasets_and_jobs(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Return names of datasets, columns and jobs."""
    return [*complete_datasets(context, parameter, typed), *complete_jobs(context, parameter, typed)]


def _select(context: click.Context, deadline: float) -> "Selected":
    from lineage_merge.cli.completion_reading import Location, Selected
    from lineage_merge.infra.graph_files import default_graph_file, demo_graph_file
    from lineage_merge.query.selection import EMBEDDED

    given = context.params
    if given.get("demo"):
        return Selected(Location(graph_file=demo_graph_file()), "", deadline)
    settings = _settings(given)
    environment = given.get("environment") or given.get("key_environment") or settings.get("environment", "")
    gremlin = settings.get("gremlin", {})
    if folder := given.get("folder"):
        location = Location(folder=Path(folder))
    elif given.get("graph_file") or gremlin.get("endpoint", EMBEDDED) == EMBEDDED:
        location = Location(graph_file=given.get("graph_file") or default_graph_file())
    else:
        location = Location(gremlin=gremlin)
    return Selected(location, str(environment), deadline)


def _settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration, without the file if it is invalid or not local."""
    from lineage_merge.model.errors import ConfigError
    from lineage_merge.orchestration.configuration import CONFIGURATION

    endpoint = next((given[option] for option in _ENDPOINTS if given.get(option)), None)
    flags = {"gremlin.endpoint": endpoint} if endpoint else {}
    try:
        return CONFIGURATION.collect(given.get("config_file"), flags=flags).settings
    except ConfigError:
        return CONFIGURATION.collect(flags=flags).settings


# Differs from click's script: it passes the line, because bash splits words at the colon of ``s3://``, and it
# quotes values, because ids contain ``|``.
_BASH = """\
%(complete_func)s() {
    local IFS=$'\\n' response completion type value quoted
    response=$(env COMP_LINE="$COMP_LINE" COMP_POINT="$COMP_POINT" COMP_BREAKS="$COMP_WORDBREAKS" \\
        %(complete_var)s=bash_complete "$1" 2>/dev/null)
    for completion in $response; do
        IFS=',' read -r type value <<< "$completion"
        if [[ $type == 'dir' ]]; then
            COMPREPLY=()
            compopt -o dirnames
        elif [[ $type == 'file' ]]; then
            COMPREPLY=()
            compopt -o default
        elif [[ $type == 'plain' ]]; then
            printf -v quoted '%%q' "$value"
            COMPREPLY+=("$quoted")
        fi
    done
    return 0
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class _Bash(BashComplete):
    """Completion for bash from the line that is typed."""

    source_template = _BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the cursor, and the word at it."""
        line = os.environ.get("COMP_LINE", "")[: int(os.environ.get("COMP_POINT") or 0)]
        words = split_arg_string(line)
        self._typed = "" if not words or line[-1:].isspace() else words.pop()
        return words[1:], self._typed

    def format_completion(self, item: CompletionItem) -> str:
        """Return a value without the part before a colon, which bash treats as a word of its own."""
        value = item.value
        before = self._typed.rpartition(":")[0]
        if before and ":" in os.environ.get("COMP_BREAKS", "") and value.startswith(f"{before}:"):
            value = value.removeprefix(f"{before}:")
        return f"{item.type},{value}"


@contextmanager
def completing(variable: str) -> Iterator[None]:
    """Run shell completion if the environment variable asks for it: without messages, ended at once.

    A thread that waits for a server would otherwise delay the end of the process.
    """
    instruction = os.environ.get(variable, "")
    if instruction:
        add_completion_class(_Bash)
    if not instruction.endswith("_complete"):
        yield
        return
    with suppress(BaseException), Path(os.devnull).open("w") as nowhere, redirect_stderr(nowhere):
        yield
    with suppress(OSError):
        sys.stdout.flush()
    os._exit(0)
