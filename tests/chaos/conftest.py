"""Selects a share of the rounds, by the seed of the test run; all if one is named."""

import random

import pytest

from tests import drawing


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect rounds that are not in this run's share."""
    rounds = [item for item in items if "runner" in getattr(item, "fixturenames", ())]
    if not rounds or any("chaos" in argument and "::" in argument for argument in config.args):
        return
    count = max(1, round(len(rounds) * drawing.share()))
    selected = set(
        random.Random(drawing.seed()).sample([item.nodeid for item in rounds], min(count, len(rounds)))
    )
    left_out = [item for item in rounds if item.nodeid not in selected]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)
