"""Columns as lists: what ``*``, EXCEPT, USING and set operations make of them."""

from itertools import zip_longest

from lineage_merge.column_lineage.sql.derivation import Derivation, derived, merged
from lineage_merge.column_lineage.sql.scope import Item, Named, Relation, Scope
from lineage_merge.column_lineage.sql.tables import Everything, fold
from lineage_merge.column_lineage.transformations import Transformation


def star(scope: Scope) -> list[Item]:
    """What ``*`` stands for."""
    items: list[Item] = []
    seen = set(scope.shared)
    if scope.shared:
        # USING: such a column comes once, and first.
        names = {
            fold(item.name): item.name
            for source in scope.sources.values()
            for item in source.relation.known()
        }
        items += [Named(names.get(key, key), derivation) for key, derivation in scope.shared.items()]
    for source in scope.sources.values():
        if not source.hidden:
            items += without(source.relation.items, seen) if seen else source.relation.items
    return items


def without(items: list[Item], hidden: set[str]) -> list[Item]:
    result: list[Item] = []
    for item in items:
        if isinstance(item, Everything):
            result.append(Everything(item.table, item.hidden | hidden))
        elif fold(item.name) not in hidden:
            result.append(item)
    return result


def replaced(items: list[Item], old: str, new: str, derivation: Derivation) -> list[Item]:
    key = fold(old)
    if any(isinstance(item, Named) and fold(item.name) == key for item in items):
        return [
            Named(new, derivation) if isinstance(item, Named) and fold(item.name) == key else item
            for item in items
        ]
    return [*without(items, {key}), Named(new, derivation)]


def coalesced(left: Derivation, right: Derivation, name: str) -> Derivation:
    kinds = dict.fromkeys((*left, *right), (Transformation.TRANSFORMATION,))
    return derived(kinds, lambda: f"coalesce({name}, {name})")


def by_position(left: list[Item], right: list[Item]) -> tuple[list[Item], bool]:
    """The left names with what both sides give; False: some columns of the right are not told."""
    # What an incremental model reads of itself has the columns of the other side.
    for one, other in ((left, right), (right, left)):
        if len(one) == 1 and isinstance(one[0], Everything) and one[0].own:
            return other, True
    items: list[Item] = []
    start = 0
    for mine, theirs in zip_longest(left, right):
        if not (isinstance(mine, Named) and isinstance(theirs, Named)):
            break
        items.append(Named(mine.name, merged((mine.derivation, theirs.derivation))))
        start += 1
    end: list[Item] = []
    for mine, theirs in zip(reversed(left[start:]), reversed(right[start:]), strict=False):
        if not (isinstance(mine, Named) and isinstance(theirs, Named)):
            break
        end.insert(0, Named(mine.name, merged((mine.derivation, theirs.derivation))))
    middle, other = left[start : len(left) - len(end)], right[start : len(right) - len(end)]
    same = len(middle) == len(other) and all(
        isinstance(mine, Everything)
        and isinstance(theirs, Everything)
        and (mine.table, mine.hidden) == (theirs.table, theirs.hidden)
        for mine, theirs in zip(middle, other, strict=True)
    )
    return [*items, *middle, *end], same


def by_name(left: Relation, right: Relation) -> list[Item]:
    theirs = {fold(item.name): item for item in right.named}
    items: list[Item] = []
    for item in left.items:
        other = theirs.pop(fold(item.name), None) if isinstance(item, Named) else None
        if isinstance(item, Named) and other is not None:
            items.append(Named(item.name, merged((item.derivation, other.derivation))))
        else:
            items.append(item)
    return [*items, *theirs.values(), *right.stars]
