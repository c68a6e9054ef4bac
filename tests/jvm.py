"""The marker `jvm`: tests that start Java, found by the fixtures and functions that they use.

``pytest -m "not jvm"`` runs the others, which need neither Spark nor a Gremlin Server. A test without
the marker that starts Java all the same fails: name here what starts it, or mark the test by hand.
"""

import functools
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

# Fixtures that start it where no code of the tests says so.
_FIXTURES = {"spark", "gremlin_url", "conflicting_url", "pipeline_url", "tickit_folder", "tickit_url"}
# What starts it, by module: a test starts it that uses one of these, or a function of the tests that does.
_STARTERS = {
    "lineage_merge.infra.spark_session": {"session"},
    "lineage_merge.infra.embedded": {"EmbeddedServer"},
    "lineage_merge.infra.embedded.java": {"find_java", "java_home"},
    "lineage_merge.infra.embedded.process": {"ServerProcess"},
    "lineage_merge.infra.embedded.server": {"EmbeddedServer"},
    "lineage_merge.infra.embedded.serving": {"serve"},
    "pyspark.sql.session": {"SparkSession"},
    "tests.command_line": {"as_process", "command"},
}
_MODULES = tuple(_STARTERS)
_OWN = "tests"

_running: list[bool] = []
_makers: "list[subprocess.Popen[bytes]]" = []


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, watch for Java, and let it start faster later where all tests run."""
    runs_all = not config.args or config.args == config.getini("testpaths")
    if runs_all and not config.getoption("collectonly"):
        _make_archives(is_worker=hasattr(config, "workerinput"))
    config.addinivalue_line("markers", "jvm: starts Java (set by tests/jvm.py)")
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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Set the marker."""
    for item in items:
        if isinstance(item, pytest.Function) and _starts_java(item):
            item.add_marker("jvm")


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
            raise RuntimeError(f"a test without the marker jvm starts {program}: see tests/jvm.py")


def _starts_java(item: pytest.Function) -> bool:
    if item.get_closest_marker("jvm"):
        return False  # it is marked already
    if not _FIXTURES.isdisjoint(item.fixturenames):
        return True
    callspec = getattr(item, "callspec", None)
    if callspec and "spark" in [each for each in callspec.params.values() if isinstance(each, str)]:
        return True  # an engine that a fixture makes of its parameter
    definitions = item._fixtureinfo.name2fixturedefs
    fixtures = (each.func for name in item.fixturenames for each in definitions.get(name, ())[-1:])
    return any(_uses(_plain(each)) for each in (item.function, *fixtures))


def _plain(function: Any) -> Any:
    return inspect.unwrap(getattr(function, "__func__", function))


@functools.cache
def _uses(used: Any) -> bool:
    """Whether a function or class of the tests, or what it uses of the tests, starts Java."""
    seen: set[Any] = set()
    waiting = [used]
    while waiting:
        each = waiting.pop()
        if each in seen:
            continue
        seen.add(each)
        is_starting, ours = _directly_used(each)
        if is_starting:
            return True
        waiting += ours
    return False


@functools.cache
def _directly_used(used: Any) -> tuple[bool, tuple[Any, ...]]:
    """Whether a function or class uses what starts Java; the tests' own functions and classes it uses."""
    found = list(_used_by(used))
    return any(map(_is_starter, found)), tuple(each for each in found if _is_ours(each))


def _is_starter(used: Any) -> bool:
    return getattr(used, "__name__", "") in _STARTERS.get(getattr(used, "__module__", ""), ())


def _is_ours(used: Any) -> bool:
    return isinstance(used, FunctionType | type) and _is_module_of_tests(str(used.__module__))


@functools.cache
def _is_module_of_tests(module: str) -> bool:
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return Path(__file__).parent in Path(file).parents


def _used_by(used: Any) -> Iterator[Any]:
    """Functions and classes that the code of a function, or of a class's methods, names."""
    if isinstance(used, type):
        for each in vars(used).values():
            yield from _used_by(_plain(each.fget if isinstance(each, property) else each))
        return
    if not isinstance(used, FunctionType):
        return
    codes: list[CodeType] = [used.__code__]
    while codes:
        code = codes.pop()
        codes += [each for each in code.co_consts if isinstance(each, CodeType)]
        for name in code.co_names:
            if name == "SparkSession" and "builder" not in code.co_names:
                continue  # one that runs is only asked for
            value = used.__globals__.get(name)
            if isinstance(value, ModuleType):
                yield from (getattr(value, each) for each in code.co_names if hasattr(value, each))
            elif name in _MODULES:  # imported inside the function
                module = sys.modules.get(name)
                yield from (getattr(module, each) for each in code.co_names if hasattr(module, each))
            elif value is not None:
                yield _plain(value) if callable(value) else value
