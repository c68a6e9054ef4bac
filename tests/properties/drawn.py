"""How many examples property tests draw: the same ones each time, unless more are asked for.

Where only a share of what is drawn runs (`tests/drawing.py`), it is two fifths of them.
``LINEAGE_MERGE_EXAMPLES=10`` draws ten times as many, at random; a failure prints what repeats it.
"""

import os

from hypothesis import settings

from tests import drawing

MORE = "LINEAGE_MERGE_EXAMPLES"

_FACTOR = float(os.environ.get(MORE) or (1 if drawing.share() >= 1 else 0.4))

# A busy machine must not fail a property, and what a machine remembers of earlier runs must not either.
settings.register_profile(
    "lineage_merge", deadline=None, derandomize=not os.environ.get(MORE), database=None, print_blob=True
)


def scaled(count: int) -> int:
    """So many, or as many times more as are asked for; fewer where a share is drawn."""
    return max(1, round(count * _FACTOR))


def examples(count: int) -> settings:
    """The settings of a property that is worth so many examples."""
    return settings(settings.get_profile("lineage_merge"), max_examples=scaled(count))
