"""Parts of values: a struct's field, a map's entry, an array's item.

Items of an array and values of a map are no level of their own: field `sku` of an array is that of its items.
"""

from typing import Literal, NamedTuple

Key = str | int | float


class Part(NamedTuple):
    """A part of a value; of a struct by `name`, by `position` where no name is known, or both.

    `key` is that of a map's value, `item` the position in an array; a function for both has both. `side` is
    all keys or all values of a map.
    """

    name: str = ""
    position: int | None = None
    key: Key | None = None
    item: int | None = None
    side: Literal["", "keys", "values"] = ""

    @property
    def is_field(self) -> bool:
        """Return whether it is a field of a struct."""
        return bool(self.name) or self.position is not None

    def is_same_field(self, other: "Part") -> bool:
        """Return whether both are one field of a struct: names compare case-insensitively."""
        if self.name and other.name:
            return self.name.casefold() == other.name.casefold()
        return self.position is not None and self.position == other.position

    def is_entry(self, wanted: "Part", kind: str) -> bool:
        """Return whether this entry of a map, or item of an array, is the one that is read."""
        if kind == "map":
            return self.key is not None and self.key == wanted.key
        return self.item is not None and self.item == wanted.item

    def preceding(self, names: tuple[str, ...]) -> "list[Part]":
        """Return the parts that are compared first: fields, whose `names` may be unknown, or items."""
        if self.is_field:
            count = self.position or 0
            known = names if len(names) >= count else ("",) * count
            return [Part(known[index], index) for index in range(count)]
        return [Part(item=index) for index in range(self.item or 0)]


# The keys and the values of a map.
KEYS, VALUES = Part(side="keys"), Part(side="values")
