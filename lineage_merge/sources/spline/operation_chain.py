"""Which operations a source's rows pass on their way to the target: ``Filter > Join > Aggregate``."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from lineage_merge.sources.spline.documents import Document

MOST_CHAINS = 20  # of one source; a plan of nested self-joins has two to the power of its depth
_CUT = "..."


def operation_chains(operations: Iterable[Document], follows: Iterable[Document]) -> dict[str, str]:
    """For each URI that one plan reads, the names of the operations up to the write, source first.

    Reads and the write do not count, every other operation does, as Spline records it. Distinct
    ways are sorted and joined with `` | ``; of more than 20 the rest is ``...``. A source right
    below the write has "", and one that does not reach the write is missing.
    """
    by_key = {str(each["_key"]): each for each in operations}
    below = _below(by_key, follows)
    chains: defaultdict[str, set[str]] = defaultdict(set)
    for key, each in by_key.items():
        if each.get("type") == "Write":
            chains[key] = {""}
    found: defaultdict[str, set[str]] = defaultdict(set)
    for key in _top_down(by_key, below):
        # Not kept: the texts of a long plan add up.
        above = chains.pop(key, set())
        operation = by_key[key]
        if operation.get("type") == "Read":
            for uri in operation.get("inputSources") or ():
                found[str(uri)] |= above
        if operation.get("type") not in ("Read", "Write"):
            name = str(operation.get("name") or operation.get("type"))
            above = {each if each == _CUT else f"{name} > {each}" if each else name for each in above}
        for child in below.get(key, ()):
            chains[child] = _cut(chains[child] | above)
    return {uri: " | ".join(_sorted(_cut(each))) for uri, each in found.items() if each}


def _below(by_key: Mapping[str, Document], follows: Iterable[Document]) -> dict[str, set[str]]:
    """The operations that each one consumes."""
    below: defaultdict[str, set[str]] = defaultdict(set)
    for edge in follows:
        above, child = (str(edge[end]).rpartition("/")[2] for end in ("_from", "_to"))
        if above in by_key and child in by_key:
            below[above].add(child)
    return dict(below)


def _top_down(by_key: Mapping[str, Document], below: Mapping[str, set[str]]) -> Iterable[str]:
    """Every operation, each after all that consume it; operations in a circle are left out."""
    consumers: defaultdict[str, int] = defaultdict(int)
    for children in below.values():
        for child in children:
            consumers[child] += 1
    ready = [key for key in by_key if not consumers[key]]
    while ready:
        key = ready.pop()
        yield key
        for child in below.get(key, ()):
            consumers[child] -= 1
            if not consumers[child]:
                ready.append(child)


def _cut(chains: set[str]) -> set[str]:
    """At most so many, the same ones whatever the order of arrival."""
    if len(chains - {_CUT}) <= MOST_CHAINS:
        return chains
    return {*_sorted(chains)[:MOST_CHAINS], _CUT}


def _sorted(chains: set[str]) -> list[str]:
    named = sorted(each for each in chains if each and each != _CUT)
    return [*named, _CUT] if _CUT in chains else named
