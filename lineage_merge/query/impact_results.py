"""Answers about the consequences of a change."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from lineage_merge.graph_format.elements import Vertex
from lineage_merge.questions.affected_tests import AffectedTest
from lineage_merge.questions.dependents import Dependents
from lineage_merge.questions.ownership import Ownership
from lineage_merge.questions.result import Record, Result

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True, kw_only=True, repr=False)
class ImpactResult(Result):
    """What depends on `dependents.changed`, and the tests of it."""

    columns: ClassVar[Mapping[str, type]] = {
        "id": str,
        "kind": str,
        "label": str,
        "title": str,
        "distance": int,
        "effect": str,
        "owners": tuple,
        "dags": tuple,
    }

    dependents: Dependents
    tests: Sequence[AffectedTest] = ()
    change: str | None = None
    depth: int | None = None

    def records(self) -> Iterator[Record]:
        """Yield the affected elements, the nearest first, then the tests."""
        for each in self.dependents.elements:
            yield {
                "id": each.vertex.id,
                "kind": each.kind,
                "label": each.vertex.label,
                "title": each.vertex.title,
                "distance": each.distance,
                "effect": each.effect.value if each.effect else None,
                "owners": tuple(each.vertex.properties.get("owners", ())),
                "dags": each.vertex.dags,
            }
        for test in self.tests:
            yield {
                "id": test.vertex.id,
                "kind": "test",
                "label": test.vertex.label,
                "title": test.vertex.title,
                "distance": test.distance,
                "effect": test.effect.value if test.effect else None,
                "owners": tuple(test.vertex.properties.get("owners", ())),
                "dags": test.vertex.dags,
            }

    @property
    def changed(self) -> Vertex:
        """The changed element."""
        return self.dependents.changed

    def parameters(self) -> dict[str, Any]:
        """Return the changed element, the depth and the change."""
        return {"of": self.changed.id, "depth": self.depth, "change": self.change}

    def fields(self) -> dict[str, Any]:
        """Return the affected elements and tests."""
        from lineage_merge.questions.formats.impact_json import impact_as_json

        return impact_as_json(self.dependents, self.tests)

    @property
    def roots(self) -> Sequence[str]:
        """The changed element."""
        return [self.changed.id]

    def tables(self) -> "Iterable[RenderableType]":
        """Return counts, and a table per kind."""
        from lineage_merge.questions.formats.impact_tables import impact_tables

        return impact_tables(self.dependents, self.tests)


@dataclass(frozen=True, kw_only=True, repr=False)
class OwnersResult(Result):
    """The owners of what depends on `changed`."""

    columns: ClassVar[Mapping[str, type]] = {
        "owner": str,
        "distance": int,
        "datasets": int,
        "columns": int,
        "jobs": int,
        "exposures": int,
        "nearest": tuple,
        "dags": tuple,
        "affected": tuple,
    }

    changed: Vertex
    ownership: Ownership
    depth: int | None = None

    def records(self) -> Iterator[Record]:
        """Yield the owners, the nearest first, then what has no owner (`owner`: None)."""
        for each in self.ownership.owners:
            yield {
                "owner": each.owner,
                "distance": each.distance,
                **{f"{kind}s": number for kind, number in each.counts.items()},
                "nearest": each.nearest,
                "dags": each.dags,
                "affected": tuple(element.vertex.id for element in each.affected),
            }
        for element in self.ownership.without_owner:
            yield {
                "owner": None,
                "distance": element.distance,
                "datasets": int(element.kind == "dataset"),
                "columns": 0,
                "jobs": 0,
                "exposures": int(element.kind == "exposure"),
                "nearest": (element.vertex.title,),
                "dags": element.vertex.dags,
                "affected": (element.vertex.id,),
            }

    def parameters(self) -> dict[str, Any]:
        """Return the changed element and the depth."""
        return {"of": self.changed.id, "depth": self.depth}

    def fields(self) -> dict[str, Any]:
        """Return the owners, and the elements without one."""
        from lineage_merge.questions.formats.impact_json import ownership_as_json

        return ownership_as_json(self.ownership)

    @property
    def roots(self) -> Sequence[str]:
        """The changed element."""
        return [self.changed.id]

    def tables(self) -> "Iterable[RenderableType]":
        """Return a row per owner."""
        from lineage_merge.questions.formats.impact_tables import owner_table

        return [owner_table(self.ownership)]
