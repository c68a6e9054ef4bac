"""What stands around every command: examples and exit codes in its help, errors as one line, printing."""

import json
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from lineage_merge.model.errors import Ambiguous, ConfigError, LineageMergeError, NotFound
from lineage_merge.naming import redact

if TYPE_CHECKING:
    from rich.console import Console

_LONGEST_LINE = 600
_TRACEBACK = "LINEAGE_MERGE_TRACEBACK"

_EXIT_CODES = """\
Exit codes: 0 done; 2 wrong configuration or usage; 3 a source cannot be read;
4 node or edge files are wrong; 5 the graph cannot be reached or refuses;
6 the embedded server does not start; 7 done, but broken documents were left
out; 8 stopped before it would have retired too much; 9 nothing in the graph
has this name; 10 several have it; 11 not exported to a catalog; 12 the check of
SQL files failed; 130 stopped by Ctrl-C; 1 anything else."""


def epilog(*examples: str) -> str:
    """The end of a command's help."""
    lines = "\n".join(f"  {example}" for example in examples)
    return f"\b\nExamples:\n{lines}\n\n\b\n{_EXIT_CODES}"


Tell = Callable[[str, int], None]


def _echo_error(line: str, _exit_code: int) -> None:
    click.echo(line, err=True)


def log_error(line: str, exit_code: int) -> None:
    """An error as a log line."""
    logging.getLogger("lineage_merge").error("%s", line, extra={"exit_code": exit_code})


@contextmanager
def reported(tell: Tell = _echo_error) -> Iterator[None]:
    """What goes wrong as one line and an exit code, never a traceback; below it what may have been meant."""
    try:
        yield
    except LineageMergeError as error:
        kind = "" if isinstance(error, ConfigError) else "error: "
        tell(f"{kind}{one_line(error.message)}", error.exit_code)
        for each in error.candidates if isinstance(error, NotFound | Ambiguous) else ():
            tell(f"  {one_line(each)}", error.exit_code)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        tell("stopped", 130)
        sys.exit(130)
    except ModuleNotFoundError as error:
        if error.name not in ("pyspark", "py4j"):
            raise
        tell("error: PySpark is not installed: pip install 'lineage-merge[local]'", 1)
        sys.exit(1)
    except Exception as error:
        # A fault of ours: whoever reports it can have the traceback, nobody else has to read it.
        if os.environ.get(_TRACEBACK):
            raise
        told = one_line(redact(f"{type(error).__name__}: {error}"))
        tell(f"error: unexpected: {told} (set {_TRACEBACK}=1 to see where)", 1)
        sys.exit(1)


def one_line(text: str) -> str:
    """A text without line feeds, cut where it grows very long."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 3]}..."


def progress(quiet: bool) -> Any:
    """Progress on standard error, or none."""
    from lineage_merge.cli.progress import progress as shown

    return shown(quiet=quiet)


def make_console() -> "Console":
    """Standard output, for what is printed with colours and in columns."""
    from rich.console import Console

    console = Console(highlight=False)
    # In a file or a pipe nothing is cut to the width of a screen that is not there.
    return console if console.is_terminal else Console(highlight=False, width=200)


def print_json(outcome: dict[str, Any]) -> None:
    """The outcome for scripts."""
    click.echo(json.dumps(outcome, indent=2, ensure_ascii=False))
