"""Inputs of datasets that were updated after them. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lineage_merge.questions.last_updates import LastUpdate
from lineage_merge.questions.lineage import strongly_connected_components

Inputs = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class InputUpdates:
    """Last updates of datasets and of their inputs.

    `cycles`: the datasets of the same cycle, of each dataset in one. `newest_behind`: of each dataset without
    a known update, such as a view, the newest update that it shows.
    """

    updates: Mapping[str, LastUpdate]
    inputs: Inputs
    cycles: Mapping[str, tuple[str, ...]]
    newest_behind: Mapping[str, int]

    def newer(self, dataset: str, *, nearest: bool = False) -> dict[str, int]:
        """Return the inputs that were updated after the dataset, with distances; `nearest`: only those.

        Datasets without a known update are passed: their inputs are compared instead. So are datasets of the
        same cycle, of which one is always the newer one.
        """
        limit = self.updates[dataset].not_after if dataset in self.updates else None
        if limit is None:
            return {}
        same_cycle = set(self.cycles.get(dataset, ()))
        newer: dict[str, int] = {}
        passed = {dataset}
        frontier = [dataset]
        distance = 0
        while frontier and not (nearest and newer):
            distance += 1
            reached = {each for here in frontier for each in self.inputs.get(here, ())} - passed
            passed |= reached
            frontier = []
            for each in reached:
                updated_at = _updated_at(self.updates, each)
                if each in same_cycle:
                    frontier.append(each)
                elif updated_at is None:
                    # Without a cycle, only what shows a newer update is followed.
                    if same_cycle or self.newest_behind.get(each, limit) > limit:
                        frontier.append(each)
                elif updated_at > limit:
                    newer[each] = distance
        return newer


def input_updates(updates: Mapping[str, LastUpdate], inputs: Inputs) -> InputUpdates:
    """Return the updates of datasets and inputs."""
    pairs = [(source, target) for target, sources in inputs.items() for source in sources]
    groups = strongly_connected_components(pairs)
    cycles = {each: group for group in groups for each in group}
    return InputUpdates(updates, inputs, cycles, _newest_behind(updates, pairs))


def _newest_behind(updates: Mapping[str, LastUpdate], pairs: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Walk from each known update, newest first, through the datasets without one, each once."""
    readers = defaultdict[str, list[str]](list)
    for source, target in pairs:
        if _updated_at(updates, target) is None:
            readers[source].append(target)
    known = [(update.updated_at, each) for each, update in updates.items() if update.updated_at is not None]
    found: dict[str, int] = {}
    for updated_at, start in sorted(known, reverse=True):
        left = [start]
        while left:
            for each in readers.get(left.pop(), ()):
                if each not in found:
                    found[each] = updated_at
                    left.append(each)
    return found


def _updated_at(updates: Mapping[str, LastUpdate], dataset: str) -> int | None:
    return updates[dataset].updated_at if dataset in updates else None
