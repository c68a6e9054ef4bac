"""The JVM's archives of classes: when they are made, and that a JVM starts with them."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lineage_merge.infra.embedded import class_archive as archives
from lineage_merge.infra.embedded.class_archive import ClassArchive, class_archive
from lineage_merge.infra.embedded.connection import connect
from lineage_merge.infra.embedded.jars import gremlin_jars
from lineage_merge.infra.embedded.java import java_home
from lineage_merge.infra.embedded.process import free_port
from lineage_merge.infra.embedded.server import EmbeddedServer
from tests.command_line import clean_environment

pytestmark = pytest.mark.jvm  # also what only seems to be Java
NOTHING = ClassArchive()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("LINEAGE_MERGE_CACHE", str(folder))
    return folder


@pytest.fixture
def jars(tmp_path: Path) -> Path:
    folder = tmp_path / "jars"
    folder.mkdir()
    return folder


def jdk(folder: Path, version: str = "17.0.9") -> Path:
    """A Java home whose program makes an empty archive."""
    (folder / "bin").mkdir(parents=True)
    (folder / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    java = folder / "bin" / "java"
    java.write_text(
        '#!/bin/sh\nfor option; do case $option in *File=*) : > "${option#*File=}";; esac; done\n'
    )
    java.chmod(0o755)
    return folder


def option(archive: ClassArchive, name: str) -> str:
    return next(each.partition("=")[2] for each in archive.java_options if each.startswith(f"-XX:{name}="))


def test_the_second_start_makes_what_the_third_uses(cache: Path, jars: Path, tmp_path: Path) -> None:
    java = jdk(tmp_path / "java")

    assert class_archive("spark", java, [jars]) == NOTHING
    second = class_archive("spark", java, [jars])
    made = Path(option(second, "ArchiveClassesAtExit"))
    second.store(made.touch)
    third = class_archive("spark", java, [jars])

    used = [Path(path) for path in option(third, "SharedArchiveFile").split(":")]
    assert [(path.name, path.is_file()) for path in used] == [("jdk.jsa", True), ("classes.jsa", True)]
    assert [path.name for path in cache.iterdir()] == [third.folder and third.folder.name]
    assert third.folder
    assert third.folder.stat().st_mode & 0o777 == 0o755  # a cache may have several users
    assert class_archive("other", java, [jars]) == NOTHING


def test_the_archive_of_the_jdk_is_used_where_it_has_one(cache: Path, jars: Path, tmp_path: Path) -> None:
    java = jdk(tmp_path / "java")
    (java / "lib" / "server").mkdir(parents=True)
    (java / "lib" / "server" / "classes.jsa").touch()
    started = [class_archive("spark", java, [jars]) for _ in range(2)]
    started[1].store(Path(option(started[1], "ArchiveClassesAtExit")).touch)

    third = class_archive("spark", java, [jars])
    assert third.folder
    assert option(third, "SharedArchiveFile") == str(third.folder / "classes.jsa")


def test_after_a_second_start_that_fails_two_more_make_the_archive(
    cache: Path, jars: Path, tmp_path: Path
) -> None:
    java = jdk(tmp_path / "java")
    started = [class_archive("spark", java, [jars]) for _ in range(2)]
    started[1].store(lambda: None)  # killed: it wrote nothing

    assert list(cache.iterdir()) == []
    started = [class_archive("spark", java, [jars]) for _ in range(2)]
    assert [archive.work is not None for archive in started] == [False, True]


def test_other_jars_have_an_archive_of_their_own(cache: Path, jars: Path, tmp_path: Path) -> None:
    java = jdk(tmp_path / "java")
    class_archive("spark", java, [jars])
    (jars / "new.jar").touch()
    os.utime(jars, (1, 1))

    assert class_archive("spark", java, [jars]) == NOTHING


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.22", "unknown"])
def test_an_old_java_makes_no_archive(cache: Path, jars: Path, tmp_path: Path, version: str) -> None:
    java = jdk(tmp_path / "java", version)

    assert [class_archive("spark", java, [jars]) for _ in range(2)] == [NOTHING, NOTHING]
    assert not cache.exists()


def test_while_one_start_makes_the_archive_no_other_does(cache: Path, jars: Path, tmp_path: Path) -> None:
    java = jdk(tmp_path / "java")
    started = [class_archive("spark", java, [jars]) for _ in range(4)]

    assert [archive.work is not None for archive in started] == [False, True, False, False]


def test_what_a_killed_start_left_is_deleted_after_an_hour(cache: Path, jars: Path, tmp_path: Path) -> None:
    java = jdk(tmp_path / "java")
    killed = [class_archive("spark", java, [jars]) for _ in range(2)][1].work
    assert killed
    for path in cache.iterdir():
        os.utime(path, (time.time() - archives._MAKING_SECONDS - 60,) * 2)
    started = [class_archive("spark", java, [jars]) for _ in range(2)]

    assert [archive.work is not None for archive in started] == [False, True]
    assert not killed.exists()


@pytest.mark.parametrize("name", ["JAVA_TOOL_OPTIONS", "SPARK_SUBMIT_OPTS"])
def test_a_java_with_options_of_its_own_makes_no_archive(
    cache: Path, jars: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """With an agent among them, it would not start."""
    monkeypatch.setenv(name, "-javaagent:agent.jar")
    java = jdk(tmp_path / "java")

    assert [class_archive("spark", java, [jars]) for _ in range(2)] == [NOTHING, NOTHING]


def test_where_the_cache_cannot_be_written_or_jars_are_missing_there_is_none(
    jars: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = jdk(tmp_path / "java")
    monkeypatch.setenv("LINEAGE_MERGE_CACHE", str(tmp_path))
    assert [class_archive("spark", java, [tmp_path / "missing"]) for _ in range(2)] == [NOTHING, NOTHING]
    (tmp_path / "file").touch()
    monkeypatch.setenv("LINEAGE_MERGE_CACHE", str(tmp_path / "file" / "cache"))
    assert class_archive("spark", java, [jars]) == NOTHING


def test_what_no_start_used_for_a_month_is_deleted(cache: Path, jars: Path, tmp_path: Path) -> None:
    java = jdk(tmp_path / "java")
    for name in ("spark-classes-0", "spark-classes-1", "gremlin-classes-0", "gremlin-server-3.7.4"):
        (cache / name).mkdir(parents=True)
        age = archives._UNUSED_SECONDS + 60 if name != "spark-classes-1" else 60
        os.utime(cache / name, (time.time() - age,) * 2)
    for _ in range(2):
        class_archive("spark", java, [jars]).abandon()

    left = {path.name for path in cache.iterdir()}
    assert left == {"spark-classes-1", "gremlin-classes-0", "gremlin-server-3.7.4"}


SESSION = """
from pathlib import Path
from lineage_merge.config import SparkOptions
from lineage_merge.infra.spark_session import session
for _ in range(2):
    with session(SparkOptions()) as spark:
        process = spark.sparkContext._gateway.proc
        mapped = Path(f"/proc/{process.pid}/maps").read_text().splitlines()
        is_mapped = any("/spark-classes-" in line and line.endswith("/classes.jsa") for line in mapped)
        print(spark.range(3).count(), is_mapped)
"""


@pytest.mark.nightly
@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="no /proc")
def test_sessions_of_spark_make_an_archive_and_start_with_it(cache: Path) -> None:
    """The second process makes it; its second session is that of another JVM."""
    printed = [
        subprocess.run(
            [sys.executable, "-c", SESSION],
            env=clean_environment(LINEAGE_MERGE_CACHE=str(cache), JAVA_HOME=str(java_home())),
            capture_output=True,
            text=True,
            check=True,
        )
        for _ in range(2)
    ]

    assert [done.stdout.splitlines() for done in printed] == [["3 False", "3 False"], ["3 False", "3 True"]]
    assert [done.stderr for done in printed] == ["", ""]


FAILING = """
from lineage_merge.config import SparkOptions
from lineage_merge.infra.spark_session import session
with session(SparkOptions()) as spark:
    spark.range(3).count()
    raise SystemExit(3)
"""


@pytest.mark.nightly
def test_a_session_that_fails_leaves_no_archive_and_no_message(cache: Path) -> None:
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", FAILING],
            env=clean_environment(LINEAGE_MERGE_CACHE=str(cache), JAVA_HOME=str(java_home())),
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (3, "", "")
    assert list(cache.iterdir()) == []


@pytest.mark.nightly
def test_the_first_server_makes_an_archive_after_its_end(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("LINEAGE_MERGE_CACHE")
    jars = gremlin_jars(print)
    cache.mkdir()
    (cache / jars.name).symlink_to(jars)
    monkeypatch.setenv("LINEAGE_MERGE_CACHE", str(cache))
    port = free_port("127.0.0.1")
    with EmbeddedServer(tmp_path / "graph", port) as server, connect(server.url) as g:
        g.add_v("table").to_list()

    deadline = time.monotonic() + 60
    while not list(cache.glob("gremlin-classes-*/classes.jsa")) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert [file.parent.name for file in cache.glob("*/classes.jsa")] != []
    with EmbeddedServer(tmp_path / "graph", port) as server, connect(server.url) as g:
        assert g.V().count().next() == 1
