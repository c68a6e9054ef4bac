"""The layout library is fetched once from the registry, in the pinned version."""

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
def npm_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a fake npm that packs another package; return the file with its calls."""
    programs, packed, noted = tmp_path / "bin", tmp_path / "other.tgz", tmp_path / "asked"
    programs.mkdir()
    with tarfile.open(packed, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("package/dist/dagre.min.js"))
    npm = programs / "npm"
    npm.write_text(f'#!/bin/sh\necho "$*" >> "{noted}"\n[ "$1" != pack ] || cp "{packed}" .\n')
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    return noted


def test_a_package_with_another_hash_is_rejected(hook: ModuleType, npm_calls: Path, tmp_path: Path) -> None:
    folder = tmp_path / "vendor"
    with pytest.raises(ValueError, match="not what is expected"):
        hook.put(folder)
    assert (
        f"pack @dagrejs/dagre@{hook.VERSION} --ignore-scripts --silent" in npm_calls.read_text().splitlines()
    )
    assert not folder.exists()


@pytest.mark.skipif(not (VENDOR / "dagre.min.js").is_file(), reason="npm's registry could not be reached")
def test_the_pinned_library_is_not_fetched_again(hook: ModuleType, npm_calls: Path) -> None:
    hook.put()
    assert not npm_calls.exists()


def test_a_failure_of_npm_is_one_line(hook: ModuleType, npm_calls: Path, tmp_path: Path) -> None:
    npm = npm_calls.parent / "bin" / "npm"
    npm.write_text('#!/bin/sh\n[ "$1" != pack ] || { echo first >&2; echo "no such host" >&2; exit 1; }\n')
    with pytest.raises(OSError, match=r"^npm cannot fetch dagre [\d.]+: no such host$"):
        hook.put(tmp_path / "vendor")


def test_a_missing_library_is_reported_with_a_fix() -> None:
    with pytest.raises(LineageMergeError, match=r"hatch_build\.py"):
        assets._built("vendor/none.js")


def test_every_script_of_the_folder_is_part_of_the_page() -> None:
    folder = Path(str(assets.__file__)).parent
    assert sorted(assets.SCRIPTS) == sorted(each.name for each in folder.glob("*.js"))
