"""DataFrame programs drawn by hypothesis: up to four steps after a table, as text.

Orders are by all columns, so that results do not depend on one that is not defined.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from hypothesis import strategies as st

_NUMBERS = (
    'F.col("{0}") + F.col("{1}")',
    'F.when(F.col("{0}") > 3, F.col("{1}")).otherwise(F.col("{2}"))',
    'F.coalesce("{0}", "{1}")',
    'F.greatest("{0}", F.lit(4), "{1}")',
    'F.aggregate(F.array("{0}", "{1}"), F.lit(0), lambda total, e: total + e)',
    'F.struct(F.col("{0}").alias("p"), F.col("{1}").alias("q"))["q"]',
    'F.struct(F.col("{0}").alias("p")).withField("r", F.col("{1}"))["r"]',
    'F.create_map(F.lit("p"), F.col("{0}"), F.lit("q"), F.col("{1}"))["p"]',
    'F.sum("{0}").over(W.partitionBy("{1}"))',
    'F.rank().over(W.partitionBy("{0}").orderBy("{1}"))',
    'F.element_at(F.transform(F.array("{0}"), lambda e: e * F.col("{1}")), 1)',
    'F.length(F.col("{0}").cast("string"))',
    'F.expr("{0} * 2 - {1}")',
)
_AGGREGATES = ('F.sum("{0}")', 'F.max("{0}")', 'F.count("{0}")', 'F.max_by("{0}", F.struct("{1}", "{0}"))')


@dataclass(frozen=True)
class _Program:
    """The text of a program; its columns, all of which are numbers; and how many names it has made."""

    text: str
    columns: tuple[str, ...]
    made: int = 0

    def then(self, step: str, columns: tuple[str, ...], made: int = 0) -> "_Program":
        return replace(self, text=f"{self.text}{step}", columns=columns, made=self.made + made)


_Draw = Callable[[st.SearchStrategy[str]], str]


def _column(draw: _Draw, program: _Program) -> str:
    return draw(st.sampled_from(program.columns))


def _fill_template(draw: _Draw, program: _Program, templates: tuple[str, ...]) -> str:
    return draw(st.sampled_from(templates)).format(*(_column(draw, program) for _ in range(3)))


def _with_column(draw: _Draw, program: _Program) -> _Program:
    name = f"c{program.made}"
    step = f'.withColumn("{name}", {_fill_template(draw, program, _NUMBERS)})'
    return program.then(step, (*program.columns, name), 1)


def _replace(draw: _Draw, program: _Program) -> _Program:
    step = f'.withColumn("{_column(draw, program)}", {_fill_template(draw, program, _NUMBERS)})'
    return program.then(step, program.columns)


def _rename(draw: _Draw, program: _Program) -> _Program:
    old, new = _column(draw, program), f"c{program.made}"
    renamed = tuple(new if name == old else name for name in program.columns)
    return program.then(f'.withColumnRenamed("{old}", "{new}")', renamed, 1)


def _select(draw: _Draw, program: _Program) -> _Program:
    names = tuple(f"c{program.made + at}" for at in range(2))
    values = ", ".join(f'({_fill_template(draw, program, _NUMBERS)}).alias("{name}")' for name in names)
    first = _column(draw, program)
    return program.then(f'.select("{first}", {values})', (first, *names), 2)


def _drop(draw: _Draw, program: _Program) -> _Program:
    if len(program.columns) < 3:
        return program
    name = _column(draw, program)
    return program.then(f'.drop("{name}")', tuple(each for each in program.columns if each != name))


def _group(draw: _Draw, program: _Program) -> _Program:
    key, name = _column(draw, program), f"c{program.made}"
    aggregate = _fill_template(draw, program, _AGGREGATES)
    return program.then(f'.groupBy("{key}").agg({aggregate}.alias("{name}"))', (key, name), 1)


def _join(draw: _Draw, program: _Program) -> _Program:
    made = program.made
    how = draw(st.sampled_from(("inner", "left", "right", "full", "left_semi", "left_anti")))
    on = _column(draw, program)
    other = f'u.groupBy(F.col("k").alias("j{made}")).agg(F.max("x").alias("c{made}"))'
    step = f'.join({other}, F.col("{on}") == F.col("j{made}"), "{how}")'
    new = () if "_" in how else (f"j{made}", f"c{made}")
    return program.then(step, (*program.columns, *new), 1)


def _union(draw: _Draw, program: _Program) -> _Program:
    columns = tuple(dict.fromkeys((_column(draw, program), _column(draw, program))))
    own = ", ".join(f'F.col("{name}").cast("long").alias("{name}")' for name in columns)
    others = ", ".join(
        f'F.col("{other}").cast("long").alias("{name}")'
        for name, other in zip(columns, ("x", "y"), strict=False)
    )
    kind = draw(st.sampled_from(("union", "unionByName", "intersect", "exceptAll", "subtract")))
    return program.then(f".select({own}).{kind}(u.select({others}))", columns)


def _explode(draw: _Draw, program: _Program) -> _Program:
    name = f"c{program.made}"
    values = ", ".join(f'F.col("{_column(draw, program)}").cast("long")' for _ in range(2))
    return program.then(f'.withColumn("{name}", F.explode(F.array({values})))', (*program.columns, name), 1)


def _unpivot(draw: _Draw, program: _Program) -> _Program:
    first, one, two = (_column(draw, program) for _ in range(3))
    name = f"c{program.made}"
    stacked = f'"stack(2, bigint({one}), bigint({two})) as {name}"'
    return program.then(f'.selectExpr("{first}", {stacked})', (first, name), 1)


def _distinct(draw: _Draw, program: _Program) -> _Program:
    name = _column(draw, program)
    return program.then(f'.select("{name}").distinct()', (name,))


def _limit(draw: _Draw, program: _Program) -> _Program:
    first = _column(draw, program)
    order = ", ".join(f'"{name}"' for name in (first, *program.columns))
    return program.then(f".orderBy({order}).limit(9)", program.columns)


def _filter(draw: _Draw, program: _Program) -> _Program:
    return program.then(f'.filter(F.col("{_column(draw, program)}") > 2)', program.columns)


def _fill(draw: _Draw, program: _Program) -> _Program:
    return program.then(f'.na.fill({{"{_column(draw, program)}": 5}})', program.columns)


# What decides on rows explains all changes of its columns, so most steps do not.
_VALUES = (_with_column, _replace, _rename, _select, _drop, _fill, _explode, _unpivot, _union)
_STEPS = (*_VALUES, *_VALUES, _group, _join, _distinct, _limit, _filter)


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Draw a program over the tables `t` and `u`."""
    program = _Program('t.select("id", "k", "g", "a", "b", "n")', ("id", "k", "g", "a", "b", "n"))
    for step in draw(st.lists(st.sampled_from(_STEPS), min_size=1, max_size=4)):
        program = step(draw, program)
    return program.text
