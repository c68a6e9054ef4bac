"""The operations between a source and the target of a plan: ``Filter > Join > Aggregate``."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from lineage_merge.model.elements import Element, Follows, JobKey, Operation
from lineage_merge.model.graph_walks import sort_by_edges
from lineage_merge.sources.spline.documents import Document, Plan

MAX_CHAINS = 20  # per source; a plan of nested self-joins has two to the power of its depth
_TRUNCATED = "..."


def operation_chains(operations: Iterable[Document], follows: Iterable[Document]) -> dict[str, str]:
    """Return, per URI that a plan reads, the operations from the source to the write.

    All operations as Spline records them, without reads and the write. Distinct chains are sorted and joined
    with `` | ``; more than 20 are abbreviated with ``...``. A source directly below the write has "", and one
    that does not reach the write is missing.
    """
    by_key = {str(document["_key"]): document for document in operations}
    below = _find_consumed(by_key, follows)
    chains = defaultdict(
        set, {key: {""} for key, operation in by_key.items() if operation.get("type") == "Write"}
    )
    chains_of_source: defaultdict[str, set[str]] = defaultdict(set)
    for key in sort_by_edges(by_key, below):
        # Released early: the texts of a long plan add up.
        above = chains.pop(key, set())
        operation = by_key[key]
        if operation.get("type") == "Read":
            for uri in operation.get("inputSources") or ():
                chains_of_source[str(uri)] |= above
        if operation.get("type") not in ("Read", "Write"):
            name = str(operation.get("name") or operation.get("type"))
            above = {text if text == _TRUNCATED else f"{name} > {text}" if text else name for text in above}
        for child in below.get(key, ()):
            chains[child] = _truncate(chains[child] | above)
    return {uri: " | ".join(_sort(_truncate(texts))) for uri, texts in chains_of_source.items() if texts}


def _find_consumed(by_key: Mapping[str, Document], follows: Iterable[Document]) -> dict[str, set[str]]:
    """Return the operations that each operation consumes."""
    below: defaultdict[str, set[str]] = defaultdict(set)
    for edge in follows:
        above, child = (str(edge[end]).rpartition("/")[2] for end in ("_from", "_to"))
        if above in by_key and child in by_key:
            below[above].add(child)
    return dict(below)


def _truncate(chains: set[str]) -> set[str]:
    """Limit the number of chains, independently of their order."""
    if len(chains - {_TRUNCATED}) <= MAX_CHAINS:
        return chains
    return {*_sort(chains)[:MAX_CHAINS], _TRUNCATED}


def _sort(chains: set[str]) -> list[str]:
    named = sorted(chain for chain in chains if chain and chain != _TRUNCATED)
    return [*named, _TRUNCATED] if _TRUNCATED in chains else named


def operations(plan: Plan, job: JobKey, sequence: int) -> Iterator[Element]:
    """Yield the operations of a job's write and the edges between them.

    Keys are ``{sequence}:op-3``, with the position of the write in its run instead of the plan's key, which
    changes with the plan's content.
    """
    known = {operation["_key"] for operation in plan.operations}
    for operation in plan.operations:
        kind = operation["type"]
        properties = {"name": operation.get("name") or kind, "operation_type": kind}
        yield Operation(job, _key(operation["_key"], sequence), properties)
    for edge in plan.follows:
        ends = [edge[end].rpartition("/")[2] for end in ("_from", "_to")]
        if known.issuperset(ends):
            yield Follows(job, *(_key(end, sequence) for end in ends))


def _key(key: str, sequence: int) -> str:
    return f"{sequence}:{key.rpartition(':')[2]}"
