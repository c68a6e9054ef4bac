"""The order of datasets: what feeds each other is together, so that a trace needs few shards (pure)."""

from collections.abc import Collection, Iterable


def order_by_lineage(ids: Collection[str], feeds: Iterable[tuple[str, str]]) -> list[str]:
    """Return the ids, each followed by what is connected to it, depth first."""
    by_name = sorted(ids)
    place = {identifier: number for number, identifier in enumerate(by_name)}
    near: list[list[int]] = [[] for _ in by_name]
    for source, target in feeds:
        if source in place and target in place and source != target:
            near[place[source]].append(place[target])
            near[place[target]].append(place[source])
    seen = bytearray(len(by_name))
    order: list[int] = []
    for start in range(len(by_name)):
        waiting = [start]
        while waiting:
            at = waiting.pop()
            if seen[at]:
                continue
            seen[at] = 1
            order.append(at)
            waiting += sorted((other for other in near[at] if not seen[other]), reverse=True)
    return [by_name[number] for number in order]
