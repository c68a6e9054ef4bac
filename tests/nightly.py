"""The marker `nightly`: tests that repeat on another engine, version or path what a faster test shows.

They run where everything that is drawn runs (``LINEAGE_MERGE_TEST_SHARE=1``, as in `nox -s nightly`), with
``-m nightly``, and if one of them is named (``tests/chaos/test_chaos_rounds.py::test_...``).
"""

from collections.abc import Sequence

import pytest

from tests import drawing


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", "nightly: left out where only a share of all cases is drawn")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests that have the marker."""
    if runs_all(config.args, config.getoption("markexpr")):
        return
    left_out = [item for item in items if item.get_closest_marker("nightly")]
    items[:] = [item for item in items if not item.get_closest_marker("nightly")]
    config.hook.pytest_deselected(items=left_out)


def runs_all(arguments: Sequence[str], marker_expression: str) -> bool:
    """Whether the tests with the marker run too, with these arguments of pytest."""
    named = any("::" in argument for argument in arguments)
    return named or "nightly" in marker_expression or drawing.share() >= 1
