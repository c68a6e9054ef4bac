"""Exit codes: the only table, from which the command `help` and the documentation are generated.

Codes of errors are class attributes of `model.errors`; tests compare them with this table.
"""

from typing import NamedTuple


class ExitCode(NamedTuple):
    """An exit code: its meaning, what to do, and the section of docs/operations.md with details."""

    code: int
    meaning: str
    action: str = ""
    section: str = ""

    @property
    def text(self) -> str:
        """Return the meaning and the fix."""
        return f"{self.meaning}. Fix: {self.action}" if self.action else self.meaning


EXIT_CODES = (
    ExitCode(0, "success"),
    ExitCode(1, "any other error", "set LINEAGE_MERGE_TRACEBACK=1, run again, report it"),
    ExitCode(
        2,
        "the configuration or the command line is invalid",
        "correct the key in the error; lineage-merge run --help-all lists all keys",
    ),
    ExitCode(
        3,
        "a source cannot be read",
        "run lineage-merge doctor: connection, login, database, file or permission; a manifest of an unknown"
        " version needs a newer lineage_merge",
    ),
    ExitCode(
        4,
        "node or edge files are missing or do not match their schema",
        "build the files again; lineage-merge validate DIR lists the errors",
    ),
    ExitCode(
        5,
        "the graph is unavailable, or rejects a request",
        "run lineage-merge doctor, then run again: every load can be repeated",
        "Failed loads",
    ),
    ExitCode(
        6,
        "the embedded graph cannot be read or is locked, or serve does not start",
        "do what the message says; for serve check Java: lineage-merge doctor prints its version",
    ),
    ExitCode(
        7,
        "success, but broken documents were skipped; the report lists them",
        "export or parse the documents again; until then nothing of their source is retired",
    ),
    ExitCode(
        8,
        "stopped because too much would be retired; nothing was written",
        "check with --dry-run; --allow-retire if the pipeline is really smaller",
        "Refused retirement",
    ),
    ExitCode(
        9, "a query names something that is not in the graph", "use one of the similar names below the error"
    ),
    ExitCode(
        10,
        "a query uses an ambiguous name; the candidates are listed",
        "use a longer name, --environment or --dag",
    ),
    ExitCode(
        11,
        "a catalog or file of `export` or `exporters`, or the history, failed; the load itself is complete",
        "check the exporter's address and token, or history.location, then run again",
    ),
    ExitCode(
        12,
        "the check of a change (`review`, `sql --check`) failed: it breaks something, newly violates a"
        " policy, or a file cannot be parsed",
        "see the lines above: what breaks, and the readers of removed datasets and columns",
    ),
    ExitCode(
        13,
        "fewer datasets joined than merge.expect",
        "add a rule, a default schema or a catalog; the report lists what could not be joined",
    ),
    ExitCode(
        14,
        "lineage violates a policy of `policies` with the severity error",
        "see the path and the fix of each violation; `except` of a policy accepts datasets",
    ),
    ExitCode(130, "interrupted by Ctrl-C", "run it again"),
)
