"""The tree of packages: few at the top, data flows down, no circles."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import lineage_merge

PACKAGE = Path(lineage_merge.__file__).parent
MOST_PACKAGES = 15
# Imports inside functions count, those for type checkers do not.
MOST_MODULES_OF_A_CYCLE = 3


def modules() -> dict[str, Path]:
    """Every module by its dotted name below the package."""
    return {
        ".".join(file.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): file
        for file in PACKAGE.rglob("*.py")
    }


def imported(file: Path, known: Mapping[str, Path]) -> Iterator[str]:
    """The modules of this package that a file imports."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in for_types or not isinstance(node, ast.ImportFrom) or not node.module:
            continue
        if node.module.split(".")[0] == "lineage_merge":
            base = node.module.partition(".")[2]
            for name in node.names:
                whole = f"{base}.{name.name}".lstrip(".")
                yield whole if whole in known else base or "__init__"


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    known = modules()
    return {name: set(imported(file, known)) - {name} for name, file in known.items()}


def cycles(imports: Mapping[str, set[str]]) -> list[set[str]]:
    """Groups of modules that import each other."""
    reach = {name: closure(name, imports) for name in imports}
    return [
        group
        for name in imports
        if len(group := {other for other in reach[name] if name in reach.get(other, ())}) > 1
        and name == min(group)
    ]


def closure(name: str, imports: Mapping[str, set[str]]) -> set[str]:
    """All modules that a module leads to."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for each in imports.get(waiting.pop(), ()):
            if each not in found:
                found.add(each)
                waiting.append(each)
    return found


def test_cycles_are_found() -> None:
    found = cycles({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()})
    assert found == [{"a", "b", "c"}]


def test_no_more_than_three_modules_import_each_other(imports: dict[str, set[str]]) -> None:
    assert [sorted(each) for each in cycles(imports) if len(each) > MOST_MODULES_OF_A_CYCLE] == []


def test_the_top_level_holds_packages_only() -> None:
    entries = {each.name for each in PACKAGE.iterdir() if each.name != "__pycache__"}
    packages = {name for name in entries if (PACKAGE / name / "__init__.py").is_file()}
    assert entries - packages == {"__init__.py", "__main__.py", "py.typed"}
    assert len(packages) <= MOST_PACKAGES


def test_the_configuration_knows_no_source_and_no_exporter_by_name(imports: dict[str, set[str]]) -> None:
    reached = set().union(*(imports[name] for name in imports if name.split(".")[0] == "config"))
    below = {
        each for each in reached if each.split(".")[0] in ("sources", "exporters", "load", "query", "cli")
    }
    # The settings of Spline and dbt are types of fields; nothing is registered there.
    assert below <= {"sources.dbt.settings", "sources.spline.settings", "sources.settings"}


def stage_of(module: str) -> str:
    """The stage of a module: its package; the Python interface stands on the history, too."""
    package, _, _ = module.partition(".")
    return package


def test_stages_do_not_import_what_runs_them(imports: dict[str, set[str]]) -> None:
    upper = ("cli", "orchestration")
    before_load = ("model", "naming", "column_lineage", "merge", "graph_format")
    lower = (*before_load, "load", "query", "history", "config", "infra")
    found = {
        (name, each)
        for name in imports
        if stage_of(name) in lower
        for each in imports[name]
        if each.split(".")[0] in upper
    }
    assert found == set()


def test_the_interface_imports_the_configuration_only_of_what_runs_stages(
    imports: dict[str, set[str]],
) -> None:
    found = {
        each
        for name in imports
        if stage_of(name) == "query"
        for each in imports[name]
        if each.split(".")[0] in ("cli", "orchestration", "exporters")
    }
    assert found == {"orchestration.configuration"}


def test_the_server_for_assistants_stands_on_the_interface_and_only_its_command_imports_it(
    imports: dict[str, set[str]],
) -> None:
    upper = {each for name in imports if stage_of(name) == "mcp" for each in imports[name]}
    assert {each.split(".")[0] for each in upper} <= {"config", "infra", "mcp", "model", "naming", "query"}
    users = {name for name in imports for each in imports[name] if stage_of(each) == "mcp"}
    assert {each for each in users if stage_of(each) != "mcp"} == {"cli.mcp"}


def test_data_flows_in_one_direction(imports: dict[str, set[str]]) -> None:
    before_load = ["model", "naming", "column_lineage", "graph_format", "merge"]
    flow = [*before_load, "load", "query", "history", "query", "mcp", "exporters", "cli"]
    found = {
        (name, each)
        for name in imports
        for each in imports[name]
        if (start := stage_of(name)) in flow
        and (end := stage_of(each)) in flow
        and flow.index(end) > flow.index(start)
    }
    assert found == set()
