"""What the names inside one query mean."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from lineage_merge.column_lineage.sql.derivation import Derivation, Influences, Origin, merged
from lineage_merge.column_lineage.sql.tables import Everything, Table, fold, only
from lineage_merge.column_lineage.transformations import InfluenceKind


@dataclass(slots=True)
class Named:
    """An output column; the name is empty where only the platform knows it."""

    name: str
    derivation: Derivation


Item = Named | Everything


@dataclass(slots=True)
class Relation:
    """What a query, a table or a function gives, in order.

    `influences` decide its rows. `base` is the dataset where it is one. `rest`: what any
    other column that a query names is made of (a function's output has no list of columns).
    """

    items: list[Item]
    influences: Influences = field(default_factory=dict)
    base: Table | None = None
    rest: Derivation | None = None
    _index: dict[str, Derivation] | None = None

    @property
    def named(self) -> Iterator[Named]:
        """The columns that are listed."""
        return (item for item in self.items if isinstance(item, Named))

    @property
    def stars(self) -> list[Everything]:
        """What stands for columns that are not listed."""
        return [item for item in self.items if isinstance(item, Everything)]

    @property
    def closed(self) -> bool:
        """All its columns are listed."""
        return self.rest is None and not self.stars

    def _listed(self) -> Mapping[str, Derivation]:
        if self._index is None:
            self._index = {}
            for item in self.named:
                self._index.setdefault(fold(item.name), item.derivation)
        return self._index

    def knows(self, name: str) -> bool:
        """It has such a column."""
        return fold(name) in self._listed() or any(star.knows(name) for star in self.stars)

    def may_have(self, name: str) -> bool:
        """Nothing says that it has no such column."""
        return fold(name) in self._listed() or any(star.may_have(name) for star in self.stars)

    def find(self, name: str) -> Derivation | None:
        """The column, None where there is none. One that could be of several has no origin."""
        listed = self._listed().get(fold(name))
        if listed is not None:
            return listed
        star, possible = only(self.stars, name)
        if star is not None:
            return star.find(name)
        return {} if possible else self.rest

    def known(self) -> list[Named]:
        """All columns that are known by name, by now."""
        result: list[Named] = []
        for item in self.items:
            if isinstance(item, Named):
                result.append(item)
            elif item.table is not None:
                names = [name for key, name in item.table.columns.items() if key not in item.hidden]
                result += [Named(name, item.table.find(name) or {}) for name in names]
        return result

    def renamed(self, names: list[str]) -> "Relation":
        """With other names for the first columns, where they are listed."""
        items: list[Item] = []
        for position, item in enumerate(self.items):
            if isinstance(item, Everything) or position >= len(names):
                items += self.items[position:]
                break
            items.append(Named(names[position], item.derivation))
        if not self.items:
            items += [Named(name, self.rest or {}) for name in names]
        return Relation(items, self.influences, None, self.rest)


@dataclass(slots=True)
class Source:
    """A relation in FROM. `path`: the parts of the table's name, folded. `hidden`: not part of `*`."""

    relation: Relation
    path: tuple[str, ...] = ()
    hidden: bool = False


@dataclass(slots=True)
class Scope:
    """The names that one SELECT sees; `outer` is that of the query around it."""

    ctes: Mapping[str, Relation]
    outer: "Scope | None" = None
    sources: dict[str, Source] = field(default_factory=dict)
    shared: dict[str, Derivation] = field(default_factory=dict)  # columns of USING
    aliases: dict[str, Derivation] = field(default_factory=dict)
    influences: Influences = field(default_factory=dict)
    windows: dict[str, exp.Window] = field(default_factory=dict)
    aliases_first: bool = False
    # A subquery selects from its own FROM; only in its conditions does it mention the query around it.
    projecting: bool = False

    def add(self, name: str, source: Source) -> None:
        """A further relation in FROM; its influences are those of the query too."""
        key = fold(name) or f"\x00{len(self.sources)}"
        while key in self.sources:  # two schemas may have a table of one name
            key += "\x00"
        self.sources[key] = source
        self.influence(source.relation.influences)

    def influence(self, influences: Mapping[Origin, Iterable[InfluenceKind]]) -> None:
        """Add what decides the rows."""
        for origin, kinds in influences.items():
            self.influences.setdefault(origin, set()).update(kinds)

    def chain(self) -> Iterator["Scope"]:
        """This scope and those around it, from inside out."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    def qualified(self, parts: list[str]) -> tuple[Source, str, list[str]] | None:
        """The relation, column and fields inside the column that a dotted name means."""
        folded = [fold(part) for part in parts]
        for scope in self.chain():
            for length in range(len(parts) - 1, 0, -1):
                source = scope.named(tuple(folded[:length]))
                if source is not None:
                    return source, parts[length], parts[length + 1 :]
        return None

    def named(self, path: tuple[str, ...]) -> Source | None:
        """The relation of an alias or of a table's name, whole or in part."""
        if len(path) == 1:
            return self.sources.get(path[0])
        found = [source for source in self.sources.values() if source.path[-len(path) :] == path]
        return found[0] if len(found) == 1 else None

    def bare(self, name: str) -> Derivation | None:
        """What a name without a table means; None: nothing, {}: it cannot be told or has no origin."""
        key = fold(name)
        for scope in self.chain():
            if scope.aliases_first and key in scope.aliases:
                return scope.aliases[key]
            if key in scope.shared:
                return scope.shared[key]
            relations = [source.relation for source in scope.sources.values()]
            certain = [relation for relation in relations if relation.knows(name)]
            if certain:
                found = [relation.find(name) or {} for relation in certain]
                return found[0] if all(other == found[0] for other in found) else None
            if key in scope.aliases:
                return scope.aliases[key]
            possible = [relation for relation in relations if relation.may_have(name)]
            if possible:
                certain_here = scope.projecting or not any(
                    source.relation.may_have(name)
                    for around in scope.chain()
                    if around is not scope
                    for source in around.sources.values()
                )
                return possible[0].find(name) if len(possible) == 1 and certain_here else None
            rests = [relation.rest for relation in relations if relation.rest is not None]
            if rests:
                return merged(rests) if len(rests) == 1 else None
        return self._insisted(name)

    def _insisted(self, name: str) -> Derivation | None:
        for scope in self.chain():
            bases = [source.relation.base for source in scope.sources.values()]
            growing = [base for base in bases if base is not None and not base.built]
            if len(growing) == 1:
                return growing[0].insist(name)
        return None
