"""The command line as tests call it: in this process, where Spark runs already, or as a process."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import NamedTuple

from click.testing import CliRunner

from lineage_merge.cli import main

PROGRAM = Path(sysconfig.get_path("scripts"), "lineage-merge")


class Outcome(NamedTuple):
    """What a command left: its exit code, standard output and standard error."""

    code: int
    out: str
    err: str


# Where downloaded jars are and come from: the same for tests as for the developer.
_PASSED = ("LINEAGE_MERGE_CACHE", "LINEAGE_MERGE_MAVEN_REPOSITORY")


def _configuring() -> list[str]:
    """Variables of the developer's own that would configure the command."""
    return [name for name in os.environ if name.startswith("LINEAGE_MERGE_") and name not in _PASSED]


def clean_environment(**variables: str) -> dict[str, str]:
    """This process's environment without anything that configures the command, and `variables`."""
    inherited = {name: value for name, value in os.environ.items() if name not in _configuring()}
    return inherited | variables


def in_process(*arguments: str | Path, **variables: str) -> Outcome:
    """Run a command here. A Spark session that runs is used, so ask for the fixture `spark`."""
    environment = dict.fromkeys(_configuring()) | variables
    result = _runner().invoke(main, [str(each) for each in arguments], env=environment)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Outcome(result.exit_code, result.stdout, result.stderr)


def _runner() -> CliRunner:
    try:
        return CliRunner(mix_stderr=False)  # type: ignore[call-arg] # click 8.1 mixes them otherwise
    except TypeError:
        return CliRunner()


def command(*arguments: str | Path) -> list[str]:
    """The words that start the installed program."""
    return [str(PROGRAM), *(str(each) for each in arguments)]


def as_process(*arguments: str | Path, **variables: str) -> Outcome:
    """Run the installed program, with everything that Java and Spark's workers print."""
    done = subprocess.run(
        command(*arguments),
        env=clean_environment(**variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def python_imports(*arguments: str | Path) -> set[str]:
    """The top-level packages that a Python process imports, which must end well."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *(str(each) for each in arguments)],
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    modules = [line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if "|" in line]
    return {module.partition(".")[0] for module in modules}
