"""The layout library comes from the registry once, only as it is pinned."""

import importlib.util
import os
import tarfile
from pathlib import Path
from types import ModuleType

import pytest

from lineage_merge.exporters.page import assets
from lineage_merge.model.errors import LineageMergeError

HOOK = Path(__file__).parents[2] / "hatch_build.py"
VENDOR = Path(assets.__file__).parent / "vendor"


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hatch_build", HOOK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An npm that packs something of its own; the file in which it notes what it was asked for."""
    programs, packed, noted = tmp_path / "bin", tmp_path / "other.tgz", tmp_path / "asked"
    programs.mkdir()
    with tarfile.open(packed, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("package/dist/dagre.min.js"))
    npm = programs / "npm"
    npm.write_text(f'#!/bin/sh\necho "$*" >> "{noted}"\n[ "$1" != pack ] || cp "{packed}" .\n')
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    return noted


def test_another_package_than_the_pinned_one_is_refused(
    hook: ModuleType, asked: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "vendor"
    with pytest.raises(ValueError, match="not what is expected"):
        hook.put(folder)
    assert f"pack @dagrejs/dagre@{hook.VERSION} --ignore-scripts --silent" in asked.read_text().splitlines()
    assert not folder.exists()


@pytest.mark.skipif(not (VENDOR / "dagre.min.js").is_file(), reason="npm's registry could not be reached")
def test_what_is_there_as_pinned_is_not_fetched_again(hook: ModuleType, asked: Path) -> None:
    hook.put()
    assert not asked.exists()


def test_npm_that_fails_is_told_in_a_line(hook: ModuleType, asked: Path, tmp_path: Path) -> None:
    npm = asked.parent / "bin" / "npm"
    npm.write_text('#!/bin/sh\n[ "$1" != pack ] || { echo first >&2; echo "no such host" >&2; exit 1; }\n')
    with pytest.raises(OSError, match=r"^npm cannot fetch dagre [\d.]+: no such host$"):
        hook.put(tmp_path / "vendor")


def test_a_package_without_the_library_says_how_to_mend_it() -> None:
    with pytest.raises(LineageMergeError, match=r"hatch_build\.py"):
        assets._built("vendor/none.js")


def test_every_script_of_the_folder_is_part_of_the_page() -> None:
    folder = Path(str(assets.__file__)).parent
    assert sorted(assets.SCRIPTS) == sorted(each.name for each in folder.glob("*.js"))
