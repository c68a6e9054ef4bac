"""What is known of the columns of each dataset, growing while queries are read.

A dataset may be open: a source of which nobody said which columns it has, or a model that
selects everything from such a source. A column that a query names exists for certain, and
where it can only have come from one place, it came from there.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from lineage_merge.column_lineage.sql.derivation import Derivation, Influences, Origin, itself


def fold(name: str) -> str:
    """Column names compare without case."""
    return name.casefold()


class Everything:
    """`*` of a dataset whose columns are not all known; `hidden` (folded) do not come through.

    `table` None: a relation of which nothing is known. `own`: it is what the query builds, as
    it was before.
    """

    __slots__ = ("hidden", "own", "table")

    def __init__(
        self, table: "Table | None", hidden: frozenset[str] = frozenset(), *, own: bool = False
    ) -> None:
        self.table = table
        self.hidden = hidden
        self.own = own

    def may_have(self, name: str) -> bool:
        """Nothing says that it has no such column."""
        return fold(name) not in self.hidden and (self.table is None or self.table.may_have(name))

    def knows(self, name: str) -> bool:
        """It has such a column."""
        return fold(name) not in self.hidden and self.table is not None and self.table.knows(name)

    def find(self, name: str) -> Derivation | None:
        """The column, None where there is none; what nothing is known of gives no origin."""
        if fold(name) in self.hidden:
            return None
        return {} if self.table is None else self.table.find(name)


def only(stars: Iterable[Everything], name: str) -> tuple[Everything | None, bool]:
    """The one of `stars` that has the column for certain, and whether any may have it."""
    possible = [star for star in stars if star.may_have(name)]
    certain = [star for star in possible if star.knows(name)]
    if len(certain) == 1 or len(possible) == 1:
        return (certain or possible)[0], True
    return None, bool(possible)


@dataclass(slots=True, eq=False)
class Table:
    """One dataset. `columns` holds the spelling by folded name; `complete`: there are no others.

    `derivations` and `influences` are those of its own SQL; `stars` what else it selects.
    `built`: its SQL was read.
    """

    unique_id: str
    columns: dict[str, str] = field(default_factory=dict)
    complete: bool = False
    built: bool = False
    derivations: dict[str, Derivation] = field(default_factory=dict)
    influences: Influences = field(default_factory=dict)
    stars: list[Everything] = field(default_factory=list)
    _readers: list[tuple["Table", frozenset[str]]] = field(default_factory=list)

    def knows(self, name: str) -> bool:
        """It has such a column."""
        return fold(name) in self.columns

    def may_have(self, name: str) -> bool:
        """Nothing says that it has no such column."""
        return self.knows(name) or (not self.complete and self._may_grow(name))

    def _may_grow(self, name: str) -> bool:
        return not self.built or any(star.may_have(name) for star in self.stars)

    def find(self, name: str) -> Derivation | None:
        """A column that a query names; it is known from then on. None: there is none."""
        if not self.knows(name):
            if not self.may_have(name):
                return None
            self._name(name)
        return itself(self.origin(name)) if self.knows(name) else None

    def insist(self, name: str) -> Derivation | None:
        """Like `find`, for a column that can be nowhere else.

        A catalog may be older than the SQL, and lists no pseudo columns.
        """
        if not self.knows(name) and not (self.built and not self.stars):
            self._name(name)
        return self.find(name)

    def origin(self, name: str) -> Origin:
        """The column as a place that values come from."""
        return Origin(self.unique_id, self.columns[fold(name)])

    def _name(self, name: str) -> None:
        if not self.stars:
            self.add(name)
            return
        star, possible = only(self.stars, name)
        if star is not None:
            found = star.find(name)
            # The star's own dataset may have told this one already.
            if found is not None and not self.knows(name):
                self.add(name, found)
        elif possible:
            self.add(name)

    def add(self, name: str, derivation: Derivation | None = None) -> None:
        """Make a column known, here and wherever all of this dataset is selected."""
        key = fold(name)
        if key in self.columns:
            return
        self.columns[key] = name
        if derivation:
            self.derivations[key] = derivation
        for reader, hidden in self._readers:
            if key not in hidden and not reader.knows(name):
                reader.add(name, itself(self.origin(name)))

    def select_all_of(self, star: Everything) -> None:
        """This dataset has every column of the star, also those that become known later."""
        self.stars.append(star)
        if star.table is None:
            return
        star.table._readers.append((self, star.hidden))
        for key, name in list(star.table.columns.items()):
            if key not in star.hidden and not self.knows(name):
                self.add(name, itself(star.table.origin(name)))
