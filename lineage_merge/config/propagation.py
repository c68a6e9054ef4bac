"""Settings of `propagation`: where tags stop. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lineage_merge.config.section import locations
from lineage_merge.infra.json_schema import path_text
from lineage_merge.model.errors import ConfigError, ErrorCollector

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


def parse_propagation(settings: Mapping[str, Mapping[str, Any]]) -> dict[str, Propagation]:
    """Return the settings by tag. Raises `ConfigError` with all findings."""
    errors = ErrorCollector()
    propagation = {
        tag: Propagation(
            frozenset(locations(rule.get("stop_at", ()))),
            locations(rule.get("stop_at_functions", ())),
            locations(rule.get("stop_at_datasets", ())),
            tuple(_all_cleared(tag, rule.get("clear", ()), errors)),
        )
        for tag, rule in settings.items()
    }
    errors.raise_errors()
    return propagation


def _all_cleared(tag: str, entries: Sequence[Mapping[str, Any]], errors: ErrorCollector) -> Iterator[Cleared]:
    for index, entry in enumerate(entries):
        with errors.collecting():
            yield _cleared(path_text(["propagation", tag, "clear", index]), entry)


def _cleared(key: str, entry: Mapping[str, Any]) -> Cleared:
    dataset, _, column = entry["column"].rpartition("#")
    if not dataset or not column:
        raise ConfigError(f"{key}.column", "expected dataset#column; example: *.orders#email_domain")
    if not entry["reason"].strip():
        raise ConfigError(f"{key}.reason", "is empty; example: a domain is no personal data")
    return Cleared(dataset, column, entry["reason"].strip())
