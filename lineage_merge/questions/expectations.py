"""Expectations of how old data may be, and whether they hold. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from lineage_merge.config import Policy
from lineage_merge.config.policies import UpdateRule
from lineage_merge.graph_format.elements import Vertex
from lineage_merge.questions.dataset_globs import DatasetGlobs, names_of
from lineage_merge.questions.last_updates import STALE_CHECKS, LastUpdate

PASSED = "passed"
Source = Literal["older_than", "freshness_check", "policy"]
# Why an expectation does not hold: the age exceeds its limit, or the check found old rows.
Unmet = Literal["age", "freshness_check"]


class Expectation(NamedTuple):
    """An expectation of a dataset. `limit_ms`: the maximum age, None if unknown; `policy`: its name."""

    source: Source
    limit_ms: int | None
    unmet: Unmet | None
    policy: str = ""


@dataclass(frozen=True)
class Expectations:
    """What is expected of all data at the time `now` (ms since 1970): all of it has to hold.

    `older_than_ms`: the maximum age of each dataset (None: no maximum). `policies`: those with
    `must_be_updated_within` are maximum ages of the datasets that they select.
    """

    now: int
    older_than_ms: int | None = None
    policies: Sequence[Policy] = ()

    def of(self, update: LastUpdate) -> Iterator[Expectation]:
        """Yield the expectations of a dataset of which it is known whether they hold."""
        if self.older_than_ms is not None and update.not_after is not None:
            unmet = self._exceeded(update.not_after, self.older_than_ms)
            yield Expectation("older_than", self.older_than_ms, unmet)
        if update.check is not None:
            yield from self._of_check(update, update.check)
        if update.not_after is not None:
            for name, limit in self._limits(update.dataset).items():
                yield Expectation("policy", limit, self._exceeded(update.not_after, limit), name)

    def _of_check(self, update: LastUpdate, check: Vertex) -> Iterator[Expectation]:
        """Yield the expectation of a freshness check: its result, and its limit at the time `now`."""
        limits = [check.properties.get(key) for key in ("warn_after_ms", "error_after_ms")]
        limit = min((limit_ms for limit_ms in limits if limit_ms is not None), default=None)
        status = check.properties.get("status")
        # A view has no age: only the newest row that it shows has.
        newest = update.not_after if update.stores_rows else update.loaded_at
        if status in STALE_CHECKS:
            yield Expectation("freshness_check", limit, "freshness_check")
        elif limit is not None and newest is not None:
            yield Expectation("freshness_check", limit, self._exceeded(newest, limit))
        elif status == PASSED:
            yield Expectation("freshness_check", limit, None)

    def _exceeded(self, time: int, limit: int) -> Unmet | None:
        return "age" if self.now - time > limit else None

    def _limits(self, dataset: Vertex) -> Mapping[str, int]:
        """Return the maximum ages of a dataset by the names of their policies."""
        if not self._rules:
            return {}
        names = names_of(dataset)
        return {
            policy.name: rule.within_ms
            for policy, rule, selected, accepted in self._rules
            if selected.matching(names) and not accepted.matching(names)
        }

    @cached_property
    def _rules(self) -> tuple[tuple[Policy, UpdateRule, DatasetGlobs, DatasetGlobs], ...]:
        return tuple(
            (policy, policy.rule, DatasetGlobs(policy.rule.datasets), DatasetGlobs(policy.exceptions))
            for policy in self.policies
            if isinstance(policy.rule, UpdateRule)
        )
