"""Name resolution inside a query."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from lineage_merge.column_lineage.sql.sql_values import (
    UNTRACED,
    SqlRows,
    SqlValue,
    field_of,
    is_same,
    structure,
)
from lineage_merge.column_lineage.sql.tables import AllColumns, KnownTable, fold, only


@dataclass(slots=True)
class NamedColumn:
    """An output column; the name is empty if the platform generates it."""

    name: str
    value: SqlValue


Item = NamedColumn | AllColumns


@dataclass(slots=True)
class Relation:
    """The output columns of a query, table or function, in order.

    `rows`: what decides on its rows. `base` is the dataset if it is one. `rest`: columns that are not listed
    are fields of this value (the output of a function has no column list).
    """

    items: list[Item]
    rows: SqlRows = field(default_factory=SqlRows)
    base: KnownTable | None = None
    rest: SqlValue | None = None
    _index: dict[str, SqlValue] | None = None
    _stars: list[AllColumns] | None = None

    @classmethod
    def from_table(cls, table: KnownTable) -> "Relation":
        """Return the relation of a dataset."""
        if not table.complete:
            return cls([AllColumns(table)], base=table)
        return cls([NamedColumn(name, table.read(name)) for name in table.columns.values()], base=table)

    @property
    def named(self) -> Iterator[NamedColumn]:
        """Yield the listed columns."""
        return (item for item in self.items if isinstance(item, NamedColumn))

    @property
    def stars(self) -> list[AllColumns]:
        """Return the placeholders of columns that are not listed."""
        if self._stars is None:
            self._stars = [item for item in self.items if isinstance(item, AllColumns)]
        return self._stars

    @property
    def closed(self) -> bool:
        """Whether all columns are listed."""
        return self.rest is None and not self.stars

    def _index_columns(self) -> Mapping[str, SqlValue]:
        if self._index is None:
            self._index = {}
            for item in self.named:
                self._index.setdefault(fold(item.name), item.value)
        return self._index

    def knows(self, name: str) -> bool:
        """Whether it certainly has the column."""
        return fold(name) in self._index_columns() or any(star.knows(name) for star in self.stars)

    def may_have(self, name: str) -> bool:
        """Whether it has or may have the column."""
        return fold(name) in self._index_columns() or any(star.may_have(name) for star in self.stars)

    def find(self, name: str) -> SqlValue | None:
        """Return the value of a column; None: no such column. An ambiguous column has no origin."""
        listed = self._index_columns().get(fold(name))
        if listed is not None:
            return listed
        star, possible = only(self.stars, name)
        if star is not None:
            return star.find(name)
        if possible:
            return UNTRACED
        return None if self.rest is None else field_of(self.rest, name)

    def list_known(self) -> list[NamedColumn]:
        """Return all columns whose names are known so far."""
        result: list[NamedColumn] = []
        for item in self.items:
            if isinstance(item, NamedColumn):
                result.append(item)
            elif item.table is not None:
                names = [name for key, name in item.table.columns.items() if key not in item.hidden]
                result += [NamedColumn(name, item.table.find(name) or UNTRACED) for name in names]
        return result

    def row(self) -> SqlValue:
        """Return a row as a value, a structure with the columns as fields."""
        return structure(
            [(item.name, item.value) for item in self.list_known()], self.find, closed=self.closed
        )

    def rename_columns(self, names: list[str]) -> "Relation":
        """Return the relation with new names for the first listed columns."""
        items: list[Item] = []
        for position, item in enumerate(self.items):
            if isinstance(item, AllColumns) or position >= len(names):
                items += self.items[position:]
                break
            items.append(NamedColumn(names[position], item.value))
        if not self.items:
            items += [NamedColumn(name, self.rest or UNTRACED) for name in names]
        return Relation(items, self.rows, None, self.rest)


@dataclass(slots=True)
class FromRelation:
    """A relation in FROM. `path`: the parts of the table's name, folded. `hidden`: neither
    part of `*` nor found without a qualifier, as the right side of a semi join."""

    relation: Relation
    path: tuple[str, ...] = ()
    hidden: bool = False


@dataclass(slots=True)
class QueryScope:
    """The names visible in a SELECT; `outer` is the scope of the enclosing query."""

    ctes: Mapping[str, Relation]
    outer: "QueryScope | None" = None
    sources: dict[str, FromRelation] = field(default_factory=dict)
    shared: dict[str, SqlValue] = field(default_factory=dict)  # columns of USING
    aliases: dict[str, SqlValue] = field(default_factory=dict)
    rows: SqlRows = field(default_factory=SqlRows)
    windows: dict[str, exp.Window] = field(default_factory=dict)
    aliases_first: bool = False
    # Within the select list: columns come from the own FROM; only conditions refer to the enclosing query.
    projecting: bool = False

    def add(self, name: str, source: FromRelation) -> None:
        """Add a relation in FROM, and what decides on its rows."""
        key = fold(name) or f"\x00{len(self.sources)}"
        while key in self.sources:  # tables of different schemas may have the same name
            key += "\x00"
        self.sources[key] = source
        self.rows.include(source.relation.rows)

    def chain(self) -> Iterator["QueryScope"]:
        """Yield this scope and the enclosing ones, innermost first."""
        scope: QueryScope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    def find_qualified(self, parts: list[str]) -> tuple[FromRelation, str, list[str]] | None:
        """Resolve a dotted name to a relation, a column and the fields inside the column; None: no relation.

        A relation may be called like a column: the name is of the column's field if the relation lacks it.
        """
        folded = [fold(part) for part in parts]
        for scope in self.chain():
            for length in range(len(parts) - 1, 0, -1):
                source = scope.find_relation(tuple(folded[:length]))
                if source is not None:
                    relation = source.relation
                    if relation.closed and not relation.knows(parts[length]) and scope.knows(parts[0]):
                        return None
                    return source, parts[length], parts[length + 1 :]
        return None

    def knows(self, name: str) -> bool:
        """Return whether a relation in FROM certainly has the column."""
        return any(source.relation.knows(name) for source in self.sources.values())

    def visible(self) -> list[Relation]:
        """Return the relations whose columns need no qualifier: all, if a join hides each of them."""
        visible = [source.relation for source in self.sources.values() if not source.hidden]
        return visible or [source.relation for source in self.sources.values()]

    def find_relation(self, path: tuple[str, ...]) -> FromRelation | None:
        """Return the relation of an alias or a (partially) qualified table name."""
        if len(path) == 1:
            return self.sources.get(path[0])
        sources = [source for source in self.sources.values() if source.path[-len(path) :] == path]
        return sources[0] if len(sources) == 1 else None

    def find_unqualified(self, name: str) -> SqlValue | None:
        """Resolve an unqualified column; None: not found or ambiguous, `UNTRACED`: without origin."""
        key = fold(name)
        for scope in self.chain():
            if scope.aliases_first and key in scope.aliases:
                return scope.aliases[key]
            if key in scope.shared:
                return scope.shared[key]
            relations = scope.visible()
            certain = [relation for relation in relations if relation.knows(name)]
            if certain:
                [first, *others] = [relation.find(name) or UNTRACED for relation in certain]
                return first if all(is_same(first, other) for other in others) else None
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
                return field_of(rests[0], name) if len(rests) == 1 else None
        return self._assume(name)

    def _assume(self, name: str) -> SqlValue | None:
        for scope in self.chain():
            bases = [source.relation.base for source in scope.sources.values()]
            growing = [base for base in bases if base is not None and not base.built]
            if len(growing) == 1:
                return growing[0].assume(name)
        return None
