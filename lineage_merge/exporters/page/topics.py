"""What the first view counts beside runs, tests and freshness: policies, tags, usage, near misses (pure)."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from lineage_merge.exporters.page.data import safe, safe_id
from lineage_merge.merge.report import Dismissed, NearMiss
from lineage_merge.model.elements import dataset_of
from lineage_merge.questions.policies import PolicyCheck
from lineage_merge.questions.traversal.tag_propagation import PropagatedTags
from lineage_merge.questions.traversal.usage import Usage


class Topic(NamedTuple):
    """Datasets, by id, that have something in common.

    `key`: the value of the filter; `severity`: failed, warned or note; `entries`: [dataset's id, text, fix].
    """

    key: str
    title: str
    severity: str
    datasets: tuple[str, ...]
    entries: tuple[tuple[str, str, str], ...] = ()

    def within(self, shown: Collection[str]) -> "Topic":
        """Return the topic of the datasets `shown`."""
        return self._replace(
            datasets=tuple(sorted({dataset for dataset in self.datasets if dataset in shown})),
            entries=tuple(entry for entry in self.entries if entry[0] in shown),
        )

    def as_json(self) -> dict[str, Any]:
        """Return the topic for the page's data, without passwords."""
        entries = [[safe_id(dataset), safe(text), safe(fix)] for dataset, text, fix in self.entries]
        return {**self._asdict(), "datasets": [*map(safe_id, self.datasets)], "entries": entries}


def topics(
    shown: Collection[str],
    check: PolicyCheck | None = None,
    carried: PropagatedTags | None = None,
    usage: Mapping[str, Usage] | None = None,
    near_misses: Iterable[NearMiss | Dismissed] = (),
) -> list[Topic]:
    """Return the topics that have one of the datasets `shown`, those that failed first."""
    candidates = [
        *(_violations(check) if check else ()),
        *(_carriers(carried) if carried else ()),
        _not_read(usage or {}),
        _misses(near_misses),
    ]
    return [limited for topic in candidates if (limited := topic.within(shown)).datasets]


def _violations(check: PolicyCheck) -> Iterator[Topic]:
    for severity, state in (("error", "failed"), ("warning", "warned")):
        entries = tuple(
            (
                dataset_of(violation.element_id),
                f"{violation.title} {violation.message}",
                f"policy {checked.policy.name}: {violation.fix}",
            )
            for checked in check.results
            if checked.policy.severity == severity
            for violation in checked.violations
            if violation.element_id
        )
        words = "violate a policy" if state == "failed" else "violate a policy (warning)"
        yield Topic(f"policy-{state}", words, state, tuple(entry[0] for entry in entries), entries)


def _carriers(carried: PropagatedTags) -> Iterator[Topic]:
    for tag in sorted({carrier.tag for carrier in carried.carriers}):
        carriers = (carrier for carrier in carried.carriers if carrier.tag == tag and not carrier.by_rows)
        ids = tuple(dataset_of(carrier.id) for carrier in carriers)
        yield Topic(f"carries-{tag}", f"carry {tag}", "note", ids)


def _not_read(usage: Mapping[str, Usage]) -> Topic:
    datasets = tuple(
        identifier
        for identifier, element_usage in usage.items()
        if element_usage.element.is_dataset and element_usage.is_observed and element_usage.last_read is None
    )
    return Topic("not-read", "not read in the query log", "note", datasets)


def _misses(near_misses: Iterable[NearMiss | Dismissed]) -> Topic:
    ends = (end for miss in near_misses if isinstance(miss, NearMiss) for end in (miss.written, miss.read))
    return Topic("near-miss", "under two names", "warned", tuple(ends))
