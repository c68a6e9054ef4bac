"""Choose the rounds of chaos that a run plays: its share, by its seed; all where one is named."""

import random

import pytest

from tests import drawing


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the rounds that this run does not play."""
    rounds = [item for item in items if "player" in getattr(item, "fixturenames", ())]
    if not rounds or any("chaos" in argument and "::" in argument for argument in config.args):
        return
    played = max(1, round(len(rounds) * drawing.share()))
    chosen = set(
        random.Random(drawing.seed()).sample([item.nodeid for item in rounds], min(played, len(rounds)))
    )
    left_out = [item for item in rounds if item.nodeid not in chosen]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)
