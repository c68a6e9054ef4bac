"""Statements that DuckDB runs, drawn by hypothesis: it makes the smallest one of those that fail.

Results do not depend on an order that is not defined: aggregates in order sort by a key, limits too. Most
statements have no condition on the columns of values, because an influence explains every change.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

NUMBER, TEXT, LIST, STRUCT, MAP, DATE = "number", "text", "list", "struct", "map", "date"
Draw = Callable[[st.SearchStrategy[Any]], Any]


@dataclass(frozen=True)
class Name:
    """A column in scope: its SQL and its type. `is_key`: for joins, groups and orders."""

    sql: str
    type: str
    is_key: bool = False


@dataclass(frozen=True)
class Query:
    """A query with the names and types of its columns; `key` is one that is unique, "" without."""

    sql: str
    columns: tuple[tuple[str, str], ...]
    key: str = ""


_TABLES: dict[str, tuple[tuple[str, str], ...]] = {
    "t": (
        ("id", NUMBER),
        ("k", NUMBER),
        ("g", NUMBER),
        ("a", NUMBER),
        ("b", NUMBER),
        ("n", NUMBER),
        ("d", DATE),
        ("s", TEXT),
        ("l", LIST),
        ("st", STRUCT),
        ("m", MAP),
    ),
    "u": (("id", NUMBER), ("k", NUMBER), ("x", NUMBER), ("y", NUMBER), ("s", TEXT)),
    "v": (("k", NUMBER), ("z", NUMBER), ("w", TEXT)),
}
_KEYS = frozenset({"id", "k", "g"})
_DEPTH = 4


class Statements:
    """Draws the parts of one statement; names are numbered, so that they differ or hide each other."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._count = 0
        self._hidden: set[str] = set()  # tables whose name is that of a CTE

    def _one_of(self, *choices: Any) -> Any:
        return self._draw(st.sampled_from(choices))

    def _chance(self, of: int) -> bool:
        return bool(self._draw(st.integers(0, of - 1)) == of - 1)

    def _name(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    # ---- expressions

    def value(self, names: Sequence[Name], kind: str, depth: int) -> str:
        """Return an expression of a type over names in scope."""
        own = [name.sql for name in names if name.type == kind]
        if own and (depth <= 0 or self._chance(2)):
            return str(self._one_of(*own))
        return {
            NUMBER: self._number,
            TEXT: self._text,
            LIST: self._list,
            STRUCT: self._struct,
            MAP: self._map,
            DATE: self._date,
        }[kind](names, depth - 1)

    def _number(self, names: Sequence[Name], depth: int) -> str:
        def number() -> str:
            return self.value(names, NUMBER, depth)

        if depth < 0:
            return str(self._draw(st.integers(0, 9)))
        match self._draw(st.integers(0, 15)):
            case 0:
                return f"({number()} {self._one_of('+', '-', '*')} {number()})"
            case 1:
                return f"coalesce({number()}, {number()})"
            case 2:
                return f"case when {self.condition(names, depth)} then {number()} else {number()} end"
            case 3:
                return f"abs({number()})"
            case 4:
                return f"nullif({number()}, {number()})"
            case 5:
                return f"greatest({number()}, {number()})"
            case 6:
                return f"length({self.value(names, TEXT, depth)})"
            case 7:
                return f"{self.value(names, LIST, depth)}[{self._one_of(1, 2, -1)}]"
            case 8:
                return f"list_{self._one_of('sum', 'max')}({self.value(names, LIST, depth)})"
            case 9:
                return f"({self.value(names, STRUCT, depth)}).x"
            case 10:
                return f"{self.value(names, MAP, depth)}['{self._one_of('p', 'q')}']"
            case 11:
                return f"{self._one_of('year', 'month')}({self.value(names, DATE, depth)})"
            case 12:
                return f"list_reduce({self.value(names, LIST, depth)}, lambda acc, e: acc + e)"
            case 13:
                return f"if({self.condition(names, depth)}, {number()}, {number()})"
            case 14:
                return self._scalar_subquery(names)
            case _:
                return f"({number()}).abs()"

    def _text(self, names: Sequence[Name], depth: int) -> str:
        if depth < 0:
            return f"'{self._one_of('a', 'b')}'"
        text = self.value(names, TEXT, depth)
        match self._draw(st.integers(0, 6)):
            case 0:
                return f"upper({text})"
            case 1:
                return f"({text} || {self.value(names, TEXT, depth)})"
            case 2:
                return f"substr({text}, 1, {self._one_of(1, 2)})"
            case 3:
                return f"cast({self.value(names, NUMBER, depth)} as varchar)"
            case 4:
                return f"({self.value(names, STRUCT, depth)}).y"
            case 5:
                return (
                    f"case {self.value(names, NUMBER, 0)} when {self._one_of(1, 2)} then {text} else 'z' end"
                )
            case _:
                return f"concat({text}, {self.value(names, TEXT, depth)})"

    def _list(self, names: Sequence[Name], depth: int) -> str:
        number = self.value(names, NUMBER, depth)
        if depth < 0:
            return f"[{number}, 1, 2]"
        array = self.value(names, LIST, depth)
        match self._draw(st.integers(0, 4)):
            case 0:
                return f"list_transform({array}, lambda e: e + {number})"
            case 1:
                return f"list_filter({array}, lambda e: e > {number})"
            case 2:
                return f"list_concat({array}, [{number}])"
            case 3:
                return f"[e * 2 for e in {array} if e > 1]"
            case _:
                return f"[{number}, {self.value(names, NUMBER, depth)}]"

    def _struct(self, names: Sequence[Name], depth: int) -> str:
        number, text = self.value(names, NUMBER, depth), self.value(names, TEXT, depth)
        if depth >= 0 and self._chance(3):
            return f"struct_pack(x := {number}, y := {text})"
        return f"{{'x': {number}, 'y': {text}}}"

    def _map(self, names: Sequence[Name], depth: int) -> str:
        return f"map {{'p': {self.value(names, NUMBER, depth)}, 'q': {self.value(names, NUMBER, depth)}}}"

    def _date(self, names: Sequence[Name], depth: int) -> str:
        dates = [name.sql for name in names if name.type == DATE]
        base = str(self._one_of(*dates)) if dates else "date '2026-05-01'"
        return f"({base} + cast({self.value(names, NUMBER, min(depth, 0))} % 50 as integer))"

    def _scalar_subquery(self, names: Sequence[Name]) -> str:
        if "u" in self._hidden:
            return "1"
        keys = [name.sql for name in names if name.is_key]
        function, column = self._one_of("max", "sum", "count"), self._one_of("x", "y")
        inner = self._name("q")
        on = f" where {inner}.k = {self._one_of(*keys)}" if keys and self._chance(2) else ""
        return f"(select {function}({inner}.{column}) from u {inner}{on})"

    def condition(self, names: Sequence[Name], depth: int) -> str:
        """Return a condition."""
        number = self.value(names, NUMBER, depth)
        match self._draw(st.integers(0, 5 if "u" in self._hidden else 6)):
            case 0:
                return f"{number} in ({self._one_of(1, 2)}, {self._one_of(3, 4)})"
            case 1:
                return f"{self.value(names, TEXT, min(depth, 0))} like '%{self._one_of('a', 'b')}%'"
            case 2:
                return f"{number} is not null"
            case 3:
                return f"not ({number} between 2 and 8)"
            case 4:
                return f"exists (select 1 from v where v.k = {number})"
            case 6:
                return f"{number} in (select x from u)"
            case _:
                return f"{number} {self._one_of('<', '>', '=', '<>')} {self.value(names, NUMBER, 0)}"

    # ---- relations

    def source(self, depth: int, ctes: Sequence[Query]) -> tuple[str, list[Name]]:
        """Return an item of FROM, and the names that it adds."""
        alias = self._name("r")
        if ctes and self._chance(3):
            query = ctes[self._draw(st.integers(0, len(ctes) - 1))]
            return f"{query.key} {alias}", _names(alias, query.columns)
        if depth > 0 and self._chance(3):
            query = self.query(depth - 1, ctes)
            return f"({query.sql}) {alias}", _names(alias, query.columns)
        table = str(self._one_of(*(name for name in _TABLES if name not in self._hidden)))
        return f"{table} {alias}", _names(alias, _TABLES[table])

    def _from(self, depth: int, ctes: Sequence[Query]) -> tuple[str, list[Name]]:
        text, names = self.source(depth, ctes)
        for _ in range(self._draw(st.integers(0, 2))):
            match self._draw(st.integers(0, 5)):
                case 0 | 1:
                    other, more = self.source(depth - 1, ctes)
                    left = [name.sql for name in names if name.is_key]
                    right = [name.sql for name in more if name.is_key]
                    kind = self._one_of("join", "left join", "full join", "right join")
                    if left and right:
                        on = f"{self._one_of(*left)} = {self._one_of(*right)}"
                        text, names = f"{text} {kind} {other} on {on}", [*names, *more]
                case 2:
                    kind = self._one_of("semi join", "anti join")
                    keys = [name.sql for name in names if name.is_key]
                    if keys:
                        inner = self._name("r")
                        text = f"{text} {kind} v {inner} on {self._one_of(*keys)} = {inner}.k"
                case 3:
                    inner, column = self._name("r"), self._name("c")
                    value = self.value(names, NUMBER, 1)
                    text = f"{text}, lateral (select {value} as {column}) {inner}"
                    names = [*names, Name(f"{inner}.{column}", NUMBER)]
                case 4:
                    # Of fixed length: an array that is unfolded is no influence, by definition.
                    lists = [name.sql for name in names if name.sql.endswith(".l")]
                    if lists:
                        inner, column = self._name("r"), self._name("c")
                        text = f"{text}, unnest({self._one_of(*lists)}) {inner}({column})"
                        names = [*names, Name(f"{inner}.{column}", NUMBER)]
                case _:
                    inner = self._name("r")
                    text = f"{text} cross join (values (1, 'p'), (2, 'q')) {inner}(one, two)"
                    names = [*names, Name(f"{inner}.one", NUMBER), Name(f"{inner}.two", TEXT)]
        return text, names

    # ---- queries

    def query(self, depth: int, ctes: Sequence[Query] = ()) -> Query:
        """Return a query."""
        if depth > 0 and self._chance(4):
            return self._set_operation(depth, ctes)
        if depth > 0 and self._chance(5):
            return self._pivot(depth, ctes)
        return self._select(depth, ctes)

    def _select(self, depth: int, ctes: Sequence[Query]) -> Query:
        text, names = self._from(depth, ctes)
        if self._chance(4):
            return self._group(text, names)
        items: list[tuple[str, str, str]] = []
        scope = list(names)
        for _ in range(self._draw(st.integers(1, 4))):
            kind = str(self._one_of(NUMBER, NUMBER, TEXT, LIST, STRUCT, DATE))
            value = self._window(names) if kind == NUMBER and self._chance(4) else self.value(scope, kind, 2)
            alias = self._name("c")
            items.append((value, alias, kind))
            if self._chance(3) and not value.endswith(")over"):
                scope.append(Name(alias, kind))  # a lateral alias
        listed = ", ".join(f"{value} as {alias}" for value, alias, _ in items)
        columns = tuple((alias, kind) for _, alias, kind in items)
        distinct = "distinct " if self._chance(8) else ""
        where = f" where {self.condition(names, 1)}" if self._chance(5) else ""
        order = self._limit(names) if self._chance(8) and not distinct else ""
        return Query(f"select {distinct}{listed} from {text}{where}{order}", columns)

    def _window(self, names: Sequence[Name]) -> str:
        keys = [name.sql for name in names if name.is_key] or ["1"]
        value = self.value(names, NUMBER, 1)
        partition = f"partition by {self._one_of(*keys)}" if self._chance(2) else ""
        function = self._one_of(
            f"sum({value})", f"max({value})", f"count({value})", f"min({value}) filter ({value} > 3)"
        )
        return f"{function} over ({partition})"

    def _group(self, text: str, names: Sequence[Name]) -> Query:
        keys = list(dict.fromkeys(name.sql for name in names if name.is_key))[:2] or ["1"]
        how = self._one_of("{}", "rollup ({})", "cube ({})", "grouping sets (({}), ())")
        columns: list[tuple[str, str]] = []
        items: list[str] = []
        if keys != ["1"]:
            for key in keys:
                alias = self._name("c")
                items.append(f"{key} as {alias}")
                columns.append((alias, NUMBER))
        for _ in range(self._draw(st.integers(1, 3))):
            alias, value = self._name("c"), self.value(names, NUMBER, 1)
            other = self.value(names, NUMBER, 0)
            aggregate = self._one_of(
                f"sum({value})",
                f"max({value})",
                f"count(distinct {value})",
                f"max_by({value}, {other} * 1000 + {value})",
            )
            items.append(f"{aggregate} as {alias}")
            columns.append((alias, NUMBER))
        group = f" group by {str(how).format(', '.join(keys))}" if keys != ["1"] else ""
        having = f" having count(*) > {self._one_of(0, 1)}" if self._chance(6) else ""
        return Query(f"select {', '.join(items)} from {text}{group}{having}", tuple(columns))

    def _limit(self, names: Sequence[Name]) -> str:
        every = ", ".join(name.sql for name in names if name.type in (NUMBER, TEXT))
        return f" order by {every} limit {self._one_of(5, 20)}" if every else ""

    def _set_operation(self, depth: int, ctes: Sequence[Query]) -> Query:
        left = self._select(depth - 1, ctes)
        text, names = self._from(depth - 1, ctes)
        values = ", ".join(self.value(names, kind, 1) for _, kind in left.columns)
        operation = self._one_of("union all", "union all", "union", "intersect", "except")
        return Query(f"({left.sql}) {operation} (select {values} from {text})", left.columns)

    def _pivot(self, depth: int, ctes: Sequence[Query]) -> Query:
        inner = self._select(depth - 1, ctes)
        numbers = [name for name, kind in inner.columns if kind == NUMBER]
        alias = self._name("r")
        if len(numbers) > 1 and self._chance(2):
            rest = [column for column in inner.columns if column[0] not in numbers]
            label, value = self._name("c"), self._name("c")
            nulls = self._one_of("", "include nulls ")
            made = f"{nulls}({value} for {label} in ({', '.join(numbers)}))"
            return Query(
                f"select * from ({inner.sql}) unpivot {made} {alias}", (*rest, (label, TEXT), (value, NUMBER))
            )
        first, kind = inner.columns[0]
        match self._draw(st.integers(0, 3)):
            case 0 if len(inner.columns) > 1:
                return Query(f"select * exclude ({first}) from ({inner.sql}) {alias}", inner.columns[1:])
            case 1 if kind == NUMBER:
                return Query(
                    f"select * replace ({first} + 1 as {first}) from ({inner.sql}) {alias}", inner.columns
                )
            case 2:
                new = self._name("c")
                columns = ((new, kind), *inner.columns[1:])
                return Query(f"select * rename ({first} as {new}) from ({inner.sql}) {alias}", columns)
            case _:
                return Query(f"select columns(*) from ({inner.sql}) {alias}", inner.columns)

    def statement(self, depth: int) -> str:
        """Return a statement: a query with CTEs, or one that changes the target."""
        ctes: list[Query] = []
        texts = []
        for _ in range(self._draw(st.integers(0, 2))):
            query = self.query(depth - 1, ctes)
            name = str(self._one_of(self._name("w"), "t", "u"))  # may hide a table
            if any(cte.key == name for cte in ctes):
                continue
            texts.append(f"{name} as ({query.sql})")
            ctes.append(Query(query.sql, query.columns, name))
            self._hidden.add(name)
        with_ = f"with {', '.join(texts)} " if texts else ""
        if not ctes and self._chance(5):
            return self._change()
        return with_ + self.query(depth, ctes).sql

    def _change(self) -> str:
        names = _names("u", _TABLES["u"])
        number, text = self.value(names, NUMBER, 1), self.value(names, TEXT, 1)
        match self._draw(st.integers(0, 4)):
            case 0:
                return f"insert into tgt (id, a, s) select u.id + 500, {number}, {text} from u"
            case 1:
                return (
                    f"insert into tgt (id, a, b) select u.id, {number}, u.y from u on conflict (id)"
                    f" do update set a = excluded.a, b = excluded.b + {self._one_of('tgt.b', 'excluded.a')}"
                )
            case 2:
                return f"update tgt set a = {number}, s = {text} from u where u.id = tgt.id"
            case 3:
                return f"delete from tgt using u where u.id = tgt.id and {self.condition(names, 0)}"
            case _:
                return (
                    "merge into tgt using u on tgt.id = u.id when matched and u.y > 5"
                    f" then update set a = {number} when not matched"
                    f" then insert (id, a, b, s) values (u.id, u.x, {number}, {text})"
                )


def _names(alias: str, columns: Sequence[tuple[str, str]]) -> list[Name]:
    return [Name(f"{alias}.{name}", kind, name in _KEYS) for name, kind in columns]


@st.composite
def statements(draw: Draw, depth: int = _DEPTH) -> str:
    """Draw statements."""
    return Statements(draw).statement(draw(st.integers(0, depth)))
