"""Settings of `propagation`: where tags stop. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

# The key of the settings of tags without settings of their own.
ANY_TAG = "*"


@dataclass(frozen=True, slots=True)
class Cleared:
    """Columns that do not carry a tag: a glob on datasets, one on their columns, and the reason."""

    dataset: str
    column: str
    reason: str


@dataclass(frozen=True, slots=True)
class Propagation:
    """Where a tag stops. By default it stops nowhere.

    `stop_at`: transformations (AGGREGATION, FILTER) and `influences`. `stop_at_functions`: globs on names of
    functions. `stop_at_datasets`: globs on datasets that do not inherit the tag. `clear`: columns that do
    not carry it.
    """

    stop_at: frozenset[str] = frozenset()
    stop_at_functions: tuple[str, ...] = ()
    stop_at_datasets: tuple[str, ...] = ()
    clear: tuple[Cleared, ...] = ()


def propagation_of(tag: str, settings: Mapping[str, Propagation]) -> Propagation:
    """Return the settings of a tag: its own, those of `*`, or the defaults."""
    return settings.get(tag) or settings.get(ANY_TAG) or Propagation()
