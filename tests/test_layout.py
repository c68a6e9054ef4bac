"""The tree of packages. What imports what is a contract of import-linter (`pyproject.toml`, `.ci/check`)."""

from pathlib import Path

import lineage_merge

PACKAGE = Path(lineage_merge.__file__).parent


def test_the_top_level_holds_packages_only() -> None:
    entries = {entry.name for entry in PACKAGE.iterdir() if entry.name != "__pycache__"}
    packages = {name for name in entries if (PACKAGE / name / "__init__.py").is_file()}
    assert entries - packages == {"__init__.py", "__main__.py", "py.typed"}
