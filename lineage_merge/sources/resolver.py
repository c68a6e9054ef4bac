"""The resolver that a merge passes to the readers of sources."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from lineage_merge.model.elements import Element, Reference
from lineage_merge.model.records import Record


class Resolver(Protocol):
    """Resolves references. Readers pass it to the workers that translate: it is small to pickle."""

    def records(self, elements: Iterable[Element], /) -> Iterator[Record]:
        """Yield elements as records, in which references are ids."""

    def resolve_id(self, ref: Reference, /) -> str:
        """Return the id of a dataset, or the reference's own text if it names none."""

    def resolves(self, ref: Reference, /) -> bool:
        """Return whether a reference names a dataset."""
