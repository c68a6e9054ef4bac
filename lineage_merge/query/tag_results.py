"""Answers about tags along lineage, and about policies."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from lineage_merge.graph_format.elements import Vertex
from lineage_merge.questions.policies import PolicyCheck
from lineage_merge.questions.result import Record, Result
from lineage_merge.questions.tag_answers import TagCounts
from lineage_merge.questions.tag_propagation import Carrier, PropagatedTags, Stop

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text


@dataclass(frozen=True, kw_only=True, repr=False)
class TagCountsResult(Result):
    """The numbers of elements that carry each tag."""

    columns: ClassVar[Mapping[str, type]] = {
        "tag": str,
        "own_datasets": int,
        "own_columns": int,
        "inherited_datasets": int,
        "inherited_columns": int,
        "stops": int,
    }

    counts: Sequence[TagCounts] = ()

    def records(self) -> Iterator[Record]:
        """Yield the tags."""
        return map(asdict, self.counts)

    def parameters(self) -> dict[str, Any]:
        """Return that no element and tag is selected."""
        return {"of": None, "tag": None}

    def fields(self) -> dict[str, Any]:
        """Return the numbers."""
        return {"tags": [asdict(each) for each in self.counts]}

    def tables(self) -> "Iterable[RenderableType]":
        """Return a row per tag."""
        from lineage_merge.questions.formats.tag_tables import count_table

        return [count_table(self.counts)]


@dataclass(frozen=True, kw_only=True, repr=False)
class TagsResult(Result):
    """What carries tags, and where they stop. `propagated`: all carriers, of which `chosen` is the answer."""

    columns: ClassVar[Mapping[str, type]] = {
        "id": str,
        "tag": str,
        "kind": str,
        "origin": str,
        "reason": str,
        "path": tuple,
    }

    propagated: PropagatedTags
    chosen: PropagatedTags
    of: Vertex | None = None
    tag: str | None = None

    def records(self) -> Iterator[Record]:
        """Yield carriers (``own``, ``inherited``, ``by rows``), then stops; `path` has the ids of edges."""
        for each in self.chosen.carriers:
            kind = "own" if each.own else "by rows" if each.by_rows else "inherited"
            yield self._record(each, kind, None)
        for stop in self.chosen.stops:
            yield self._record(stop, "stopped", stop.reason)

    @staticmethod
    def _record(found: Carrier | Stop, kind: str, reason: str | None) -> Record:
        path = tuple(each.id for each in found.path)
        values = {"id": found.id, "tag": found.tag, "kind": kind, "origin": found.origin}
        return {**values, "reason": reason, "path": path}

    def parameters(self) -> dict[str, Any]:
        """Return the element and the tag."""
        return {"of": self.of.id if self.of else None, "tag": self.tag}

    def fields(self) -> dict[str, Any]:
        """Return carriers and stops."""
        return {
            "carriers": [_carrier(each) for each in self.chosen.carriers],
            "stops": [_stop(each) for each in self.chosen.stops],
        }

    def tables(self) -> "Iterable[RenderableType]":
        """Return a row per carrier, then a row per stop."""
        from lineage_merge.questions.formats.tag_tables import carrier_tables

        return carrier_tables(self.chosen)

    def lines(self) -> "Iterable[Text]":
        """Return the carriers below the origins of their tags."""
        from lineage_merge.questions.formats.tag_tables import carrier_tree
        from lineage_merge.questions.tag_answers import with_paths

        return carrier_tree(self.chosen, with_paths(self.propagated, self.chosen.carriers))


@dataclass(frozen=True, kw_only=True, repr=False)
class PolicyResult(Result):
    """The policies of the configuration and their violations."""

    columns: ClassVar[Mapping[str, type]] = {
        "policy": str,
        "severity": str,
        "id": str,
        "title": str,
        "label": str,
        "message": str,
        "fix": str,
        "path": tuple,
    }

    check: PolicyCheck

    @property
    def failed(self) -> bool:
        """Whether a policy with the severity error is violated."""
        return self.check.failed

    def records(self) -> Iterator[Record]:
        """Yield the violations; `path` has the ids of edges."""
        for result in self.check.results:
            for each in result.violations:
                yield {
                    "policy": result.policy.name,
                    "severity": result.policy.severity,
                    "id": each.element_id or None,
                    "title": each.title,
                    "label": each.label or None,
                    "message": each.message,
                    "fix": each.fix,
                    "path": tuple(edge.id for edge in each.path),
                }

    def fields(self) -> dict[str, Any]:
        """Return numbers, and the policies with their violations."""
        from lineage_merge.questions.formats.policy_text import result_as_json, summary_as_json

        results = [result_as_json(each, self.graph) for each in self.check.results]
        return {"summary": summary_as_json(self.check), "policies": results}

    def to_sarif(self) -> dict[str, Any]:
        """Return the violations as a SARIF object, for code review tools."""
        from lineage_merge.questions.formats.sarif import sarif

        return sarif(self.check)

    def to_junit(self) -> str:
        """Return the policies as JUnit XML."""
        from lineage_merge.questions.formats.junit import junit

        return junit(self.check)

    def tables(self) -> "Iterable[RenderableType]":
        """Return the violations of each policy, then a row per policy."""
        from lineage_merge.questions.formats.policy_tables import policy_tables

        return policy_tables(self.check)

    def csv_tables(self) -> "Iterable[RenderableType]":
        """Return a row per violation."""
        from lineage_merge.questions.formats.policy_tables import violation_table

        return [violation_table(self.check)]


def _carrier(carrier: Carrier) -> dict[str, Any]:
    return {
        "id": carrier.id,
        "tag": carrier.tag,
        "own": carrier.own,
        "by_rows": carrier.by_rows,
        "origin": carrier.origin,
        "path": [each.id for each in carrier.path],
    }


def _stop(stop: Stop) -> dict[str, Any]:
    return {
        "id": stop.id,
        "tag": stop.tag,
        "kind": stop.kind,
        "reason": stop.reason,
        "origin": stop.origin,
        "path": [each.id for each in stop.path],
    }
