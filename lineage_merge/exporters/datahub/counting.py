"""How many datasets, jobs and aspects were told."""

from collections import Counter
from dataclasses import dataclass, field

from datahub.utilities.urns.urn import guess_entity_type

from lineage_merge.exporters.datahub.proposals import Proposal

_WORDS = {"dataset": "datasets", "dataFlow": "DAGs", "dataJob": "jobs", "dashboard": "dashboards"}


@dataclass
class Counting:
    """Counts proposals, and what they are about. What is told of one thing comes together."""

    _told: int = 0
    _things: Counter[str] = field(default_factory=Counter)
    _last: str = ""

    def add(self, proposal: Proposal) -> None:
        """One more."""
        urn = proposal.entityUrn or ""
        if urn != self._last:
            self._things[_WORDS.get(guess_entity_type(urn), "others")] += 1
        self._last = urn
        self._told += 1

    @property
    def counts(self) -> dict[str, int]:
        """``{"datasets": 12, "jobs": 5, "aspects": 70}``."""
        return {**self._things, "aspects": self._told}
