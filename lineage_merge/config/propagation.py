"""Settings of `propagation`: where tags stop."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from lineage_merge.infra.setting import Form, Texts, declare
from lineage_merge.model.errors import ConfigError

# The key of the settings of tags without settings of their own.
ANY_TAG = "*"

_STOPS = (
    *("IDENTITY", "TRANSFORMATION", "AGGREGATION", "CONDITIONAL", "WINDOW"),
    *("FILTER", "JOIN", "GROUP_BY", "SORT", "influences"),
)


@dataclass(frozen=True, slots=True)
class Cleared:
    """Columns that do not carry a tag: a glob on datasets, one on their columns, and the reason."""

    dataset: str
    column: str
    reason: str


@dataclass(frozen=True, slots=True)
class _Cleared:
    """Columns that do not carry a tag, as they are written."""

    column: str = declare("globs: dataset#column", example="*.orders#email_domain")
    reason: str = declare(
        "why the column does not carry the tag; answers show it", example="a domain is no personal data"
    )

    def complete(self, key: str) -> Cleared:
        dataset, _, column = self.column.rpartition("#")
        if not dataset or not column:
            raise ConfigError(f"{key}.column", "expected dataset#column; example: *.orders#email_domain")
        if not self.reason.strip():
            raise ConfigError(f"{key}.reason", "is empty; example: a domain is no personal data")
        return Cleared(dataset, column, self.reason.strip())


@dataclass(frozen=True, slots=True)
class Propagation:
    """Where a tag stops. By default it stops nowhere."""

    stop_at: frozenset[Annotated[str, Form(schema={"enum": [*_STOPS]})]] = declare(
        "transformations of values (IDENTITY, TRANSFORMATION, AGGREGATION, CONDITIONAL, WINDOW), influences "
        "on rows (FILTER, JOIN, GROUP_BY, SORT), or influences: all of these",
        frozenset(),
        ["AGGREGATION", "CONDITIONAL", "influences"],
        form=Form(schema={"minItems": 1}),
    )
    stop_at_functions: Texts = declare(
        "names of functions, one or several globs: the tag stops if the column is only used inside calls of "
        "them",
        (),
        ["sha2", "md5", "mask*"],
    )
    stop_at_datasets: Texts = declare(
        "datasets that do not inherit the tag, one or several globs", (), ["*.anonymized.*"]
    )
    clear: tuple[Cleared, ...] = declare(
        "columns that do not carry the tag, not even as their own, each with a reason",
        (),
        [{"column": "*.orders#email_domain", "reason": "a domain is no personal data"}],
        form=Form(written=tuple[_Cleared, ...], schema={"minItems": 1}),
    )


def propagation_of(tag: str, settings: Mapping[str, Propagation]) -> Propagation:
    """Return the settings of a tag: its own, those of `*`, or the defaults."""
    return settings.get(tag) or settings.get(ANY_TAG) or Propagation()
