"""Near misses that the configuration dismisses (`merge.dismissed_near_misses`). Pure.

A dismissal applies while the evidence is as it was, or weaker, and until its last day. The number of other
datasets that differ in the same manner is not compared: a new table does not bring back the others.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date
from typing import Any

from lineage_merge.config import DismissedNearMiss
from lineage_merge.infra.redaction import redact
from lineage_merge.merge.near_misses.pairs import SAME_MANNER, Pair
from lineage_merge.merge.report import MERGE, Dismissed, NearMiss, dataset_text
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import did_you_mean

KEY = "merge.dismissed_near_misses"


class Dismissals:
    """The dismissals of a configuration on a day."""

    def __init__(self, entries: Sequence[DismissedNearMiss], today: date) -> None:
        self._entries = entries
        self._today = today

    def find(self, pair: Pair) -> DismissedNearMiss | None:
        """Return the dismissal that applies to a pair."""
        return next((entry for entry in self._find_all(pair) if not self._why_not(entry, pair)), None)

    def applies(self, pair: Pair) -> bool:
        """Whether a pair is dismissed."""
        return self.find(pair) is not None

    def note(self, pair: Pair) -> str:
        """Return why a dismissal of a pair no longer applies, "" if it has none."""
        reasons = ((entry, self._why_not(entry, pair)) for entry in self._find_all(pair))
        return next((f"dismissed by {entry.by} {why}: {entry.reason}" for entry, why in reasons if why), "")

    def report_unmatched(self, pairs: Collection[Pair], *, is_environment: bool) -> Iterator[Problem]:
        """Yield a notice for each dismissal of none of the pairs.

        Of a single merge (not `is_environment`) only with a similar pair: others may be of another DAG.
        """
        texts = {f"{dataset_text(pair.written.id)} and {dataset_text(pair.read.id)}" for pair in pairs}
        for index, entry in enumerate(self._entries):
            if any(_is_of(entry, pair) for pair in pairs):
                continue
            similar = did_you_mean(f"{entry.written} and {entry.read}", texts)
            if similar or is_environment:
                message = f"no near miss of {entry.written} and {entry.read}{similar or '; remove the entry'}"
                yield Problem("notice", MERGE, f"{KEY}[{index}]", redact(message))

    def _find_all(self, pair: Pair) -> Iterable[DismissedNearMiss]:
        return (entry for entry in self._entries if _is_of(entry, pair))

    def _why_not(self, dismissal: DismissedNearMiss, pair: Pair) -> str:
        if dismissal.until and dismissal.until < self._today:
            return f"until {dismissal.until}"
        if is_stronger(dismissal, int(pair.score), pair.evidence):
            return f"on other evidence{f' (score {dismissal.score})' if dismissal.score else ''}"
        return ""


def _is_of(dismissal: DismissedNearMiss, pair: Pair) -> bool:
    return all(
        text in (dataset.id, dataset_text(dataset.id), f"{dataset.namespace}|{dataset.name}")
        for text, dataset in ((dismissal.written, pair.written), (dismissal.read, pair.read))
    )


def is_stronger(dismissal: DismissedNearMiss, score: int, evidence: Sequence[str]) -> bool:
    """Whether a score and evidence are not those of a dismissal, and not weaker."""
    if dismissal.evidence and dismissal.evidence == fingerprint(evidence):
        return False
    if dismissal.score:
        return score > dismissal.score or (score == dismissal.score and bool(dismissal.evidence))
    return bool(dismissal.evidence)


def fingerprint(evidence: Iterable[str]) -> str:
    """Return 8 hexadecimal digits of the evidence of a pair."""
    of_pair = "\n".join(reason for reason in evidence if not reason.endswith(SAME_MANNER))
    return hashlib.sha256(of_pair.encode()).hexdigest()[:8]


def as_dismissed(pair: Pair, dismissal: DismissedNearMiss) -> Dismissed:
    """Return a dismissed pair as reports have it."""
    until = str(dismissal.until or "")
    ids = pair.written.id, pair.read.id
    return Dismissed(*ids, int(pair.score), pair.evidence, dismissal.by, dismissal.reason, until)


def entry(near_miss: NearMiss, by: str, reason: str, until: str = "") -> dict[str, Any]:
    """Return the entry of the configuration that dismisses a near miss on its present evidence."""
    return {
        "written": dataset_text(near_miss.written),
        "read": dataset_text(near_miss.read),
        "by": by,
        "reason": reason,
        **({"until": until} if until else {}),
        "score": near_miss.score,
        "evidence": fingerprint(near_miss.evidence),
    }
