"""Column lists: expansion of ``*``, EXCEPT, USING and set operations."""

from itertools import zip_longest

from lineage_merge.column_lineage.sql.derivation import Derivation, derived, merged
from lineage_merge.column_lineage.sql.scope import Item, Named, Relation, Scope
from lineage_merge.column_lineage.sql.tables import AllColumns, fold
from lineage_merge.column_lineage.transformations import Transformation


def star(scope: Scope) -> list[Item]:
    """Return the columns of ``*``."""
    items: list[Item] = []
    seen = set(scope.shared)
    if scope.shared:
        # Columns of USING appear once, and first.
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
        if isinstance(item, AllColumns):
            result.append(AllColumns(item.table, item.hidden | hidden))
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
    """Combine columns by position under the left names; False if some right columns are not matched."""
    # The self-reference of an incremental model has the columns of the other side.
    for side, other_side in ((left, right), (right, left)):
        if len(side) == 1 and isinstance(side[0], AllColumns) and side[0].own:
            return other_side, True
    items: list[Item] = []
    start = 0
    for left_item, right_item in zip_longest(left, right):
        if not (isinstance(left_item, Named) and isinstance(right_item, Named)):
            break
        items.append(Named(left_item.name, merged((left_item.derivation, right_item.derivation))))
        start += 1
    end: list[Item] = []
    for left_item, right_item in zip(reversed(left[start:]), reversed(right[start:]), strict=False):
        if not (isinstance(left_item, Named) and isinstance(right_item, Named)):
            break
        end.insert(0, Named(left_item.name, merged((left_item.derivation, right_item.derivation))))
    middle, right_middle = left[start : len(left) - len(end)], right[start : len(right) - len(end)]
    same = len(middle) == len(right_middle) and all(
        isinstance(left_item, AllColumns)
        and isinstance(right_item, AllColumns)
        and (left_item.table, left_item.hidden) == (right_item.table, right_item.hidden)
        for left_item, right_item in zip(middle, right_middle, strict=True)
    )
    return [*items, *middle, *end], same


def by_name(left: Relation, right: Relation) -> list[Item]:
    unmatched = {fold(item.name): item for item in right.named}
    items: list[Item] = []
    for item in left.items:
        other = unmatched.pop(fold(item.name), None) if isinstance(item, Named) else None
        if isinstance(item, Named) and other is not None:
            items.append(Named(item.name, merged((item.derivation, other.derivation))))
        else:
            items.append(item)
    return [*items, *unmatched.values(), *right.stars]
