"""The marker `jvm`: tests that start Java.

``pytest -m "not jvm"`` runs the others, which need neither Spark nor a Gremlin Server. A test without
the marker that starts Java all the same fails.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

_running: list[bool] = []
_makers: "list[subprocess.Popen[bytes]]" = []


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, watch for Java, and let it start faster later where all tests run."""
    runs_all = not config.args or config.args == config.getini("testpaths")
    if runs_all and not config.getoption("collectonly"):
        _make_archives(is_worker=hasattr(config, "workerinput"))
    config.addinivalue_line("markers", "jvm: starts Java")
    sys.addaudithook(_watch)


def pytest_unconfigure() -> None:
    """Wait for the archives, which are made long before the last test."""
    for maker in _makers:
        maker.wait()


def _make_archives(is_worker: bool) -> None:
    if not is_worker:
        null = subprocess.DEVNULL
        maker = [sys.executable, "-m", "tests.class_archives"]
        _makers.append(subprocess.Popen(maker, stdin=null, stdout=null, stderr=null))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Any:
    """Remember whether the test that runs may start Java."""
    _running.append(item.get_closest_marker("jvm") is not None)
    try:
        return (yield)
    finally:
        _running.pop()


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "subprocess.Popen" and _running and not _running[-1]:
        program = Path(str(arguments[0]))
        if program.name in ("java", "spark-submit"):
            raise RuntimeError(f"a test without the marker jvm starts {program}")
