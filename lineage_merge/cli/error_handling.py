"""Common parts of the commands: errors as one line and exit code, output."""

import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from lineage_merge.infra.redaction import redact
from lineage_merge.model import errors
from lineage_merge.model.errors import Ambiguous, ConfigError, LineageMergeError, NotFound, TooFewJoined

if TYPE_CHECKING:
    from rich.console import Console

_LONGEST_LINE = 600
_TRACEBACK = "LINEAGE_MERGE_TRACEBACK"

ReportError = Callable[[str, int], None]


def echo_error(line: str, _exit_code: int) -> None:
    """Print an error on standard error."""
    click.echo(line, err=True)


def log_error(line: str, exit_code: int) -> None:
    """Log an error."""
    logging.getLogger("lineage_merge").error("%s", line, extra={"exit_code": exit_code})


@contextmanager
def handle_errors(report_error: ReportError = echo_error) -> Iterator[None]:
    """Turn exceptions into an exit code and one line, without traceback, followed by similar names if any.

    Errors of the configuration are one line each.
    """
    try:
        yield
    except LineageMergeError as error:
        if isinstance(error, ConfigError):
            for line in error.lines:
                report_error(one_line(line), error.exit_code)
        else:
            report_error(f"error: {one_line(error.message)}{_fix(error)}", error.exit_code)
        for candidate in error.candidates if isinstance(error, NotFound | Ambiguous) else ():
            report_error(f"  {one_line(candidate)}", error.exit_code)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        report_error("interrupted", 130)
        sys.exit(130)
    except click.ClickException:
        raise  # click prints usage errors
    except ModuleNotFoundError as error:
        if error.name not in ("pyspark", "py4j"):
            raise
        report_error("error: PySpark is not installed: install lineage-merge[local]", 1)
        sys.exit(1)
    except Exception as error:
        # An internal error: the traceback is optional.
        if os.environ.get(_TRACEBACK):
            raise
        message = one_line(redact(f"{type(error).__name__}: {error}"))
        report_error(f"internal error: {message} (set {_TRACEBACK}=1 for the traceback)", 1)
        sys.exit(1)


def _fix(error: LineageMergeError) -> str:
    """Return the fix of an error whose message depends on the data alone."""
    from lineage_merge.cli.exit_codes import EXIT_CODES

    if not isinstance(error, TooFewJoined):
        return ""
    return f". Fix: {next(code.action for code in EXIT_CODES if code.code == error.exit_code)}"


def one_line(text: str) -> str:
    """Return a text without line feeds, truncated if it is very long."""
    return errors.one_line(text, _LONGEST_LINE)


def progress(quiet: bool) -> Any:
    """Show progress on standard error unless `quiet`."""
    from lineage_merge.cli.progress import show_progress

    return show_progress(quiet=quiet)


def make_console() -> "Console":
    """Return a console on standard output, for colours and tables."""
    from rich.console import Console

    console = Console(highlight=False)
    # Do not wrap to a terminal's width in files and pipes.
    return console if console.is_terminal else Console(highlight=False, width=200)


def print_json(outcome: dict[str, Any]) -> None:
    """Print JSON for scripts."""
    from lineage_merge.questions.formats.conversions import json_text

    click.echo(json_text(outcome))
