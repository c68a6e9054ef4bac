"""Pipelines as hypothesis draws them: few datasets and few moments, so that things meet."""

from dataclasses import replace
from typing import get_args

from hypothesis import strategies as st

from benchmarks.generated.pipeline import At, How, Made
from tests.properties.pipeline import (
    COLUMNS,
    DAY,
    End,
    Kind,
    Mention,
    Node,
    NodeKind,
    Pipeline,
    Place,
    Plan,
)
from tests.properties.spelling import SPELLINGS

_NAMES = st.sampled_from(["x", "y"])
# Temporary ones in the middle of it all.
_PLACES = st.builds(Place, st.sampled_from([*Kind, Kind.TEMPORARY, Kind.TEMPORARY]), _NAMES)
_TABLES = st.builds(Place, st.just(Kind.TABLE), _NAMES)
_SOURCES = st.builds(Place, st.just(Kind.WAREHOUSE), _NAMES)
_SELDOM = st.sampled_from([*[False] * 7, True])
# Around the end of the lookback, and some days of the newest week; and minutes in which writes overlap.
_MOMENTS = st.builds(
    lambda day, minute: day * DAY + minute,
    st.sampled_from([99, 99, 99, 98, 100, 70, 69]),
    st.integers(0, 5),
)


@st.composite
def _mentions(draw: st.DrawFn, places: st.SearchStrategy[Place]) -> Mention:
    place = draw(places)
    # Mostly as it is, so that writes replace each other.
    spelling = draw(st.just(0) | st.integers(0, SPELLINGS[place.kind] - 1))
    return Mention(place, spelling, place.kind == Kind.TABLE and draw(st.booleans()))


@st.composite
def _made(draw: st.DrawFn, columns: st.SearchStrategy[At]) -> tuple[Made, ...]:
    made = []
    for name in draw(st.lists(st.sampled_from(COLUMNS), unique=True, min_size=1)):
        how: How = draw(st.sampled_from(get_args(How)))
        several = st.lists(columns, min_size=1, max_size=1 if how == "identity" else 2)
        made.append(Made(draw(st.sampled_from([name, name.upper()])), how, tuple(draw(several))))
    return tuple(made)


@st.composite
def _plans(draw: st.DrawFn, places: st.SearchStrategy[Place]) -> Plan:
    """One write: of one to three datasets, which may be the target itself."""
    reads = tuple(draw(st.lists(_mentions(places), min_size=1, max_size=3)))
    columns = st.builds(At, st.integers(0, len(reads) - 1), st.sampled_from(COLUMNS))
    joins = []
    for place in range(1, len(reads)):
        if draw(st.booleans()):
            left = At(draw(st.integers(0, place - 1)), draw(st.sampled_from(COLUMNS)))
            joins.append((left, At(place, draw(st.sampled_from(COLUMNS)))))
    return Plan(
        application=draw(st.sampled_from(["ingest", "load"])),
        target=draw(_mentions(places)),
        reads=reads,
        columns=draw(_made(columns)),
        filters=tuple(draw(st.lists(columns, max_size=1))),
        joins=tuple(joins),
        sorts=tuple(draw(st.lists(columns, max_size=1))),
        by_name=tuple(draw(st.lists(_TABLES, max_size=1))),
        append=draw(st.booleans()),
        on_glue=draw(st.booleans()),
    )


@st.composite
def _ends(draw: st.DrawFn, plan: Plan) -> End:
    return End(
        plan=plan,
        run=draw(st.sampled_from(["r1", "r2"])),
        at=draw(_MOMENTS),
        minutes=draw(st.sampled_from([0, 1, 3])),
        failed=draw(_SELDOM),
        pending=draw(_SELDOM),
        rows=draw(st.integers(0, 9)),
    )


@st.composite
def _hops(draw: st.DrawFn, known: st.SearchStrategy[Plan]) -> list[End]:
    """A run that writes what only it reads, or reads it too early."""
    hop = Mention(Place(Kind.LAKE, "hop"))
    first, second = draw(known), draw(known)
    first = replace(first, target=hop)
    second = replace(second, application=first.application, reads=(hop, *second.reads[1:]))
    earlier, later = draw(st.sampled_from([(1, 2), (1, 2), (1, 2), (2, 2), (2, 1)]))
    return [End(first, "r1", 99 * DAY + earlier), End(second, "r1", 99 * DAY + later)]


@st.composite
def _projects(draw: st.DrawFn) -> tuple[Node, ...]:
    nodes: list[Node] = []
    for _ in range(draw(st.integers(0, 5))):
        kind: NodeKind = draw(st.sampled_from([*get_args(NodeKind), "ephemeral"]))
        if kind == "seed":
            nodes.append(Node(kind))
            continue
        readable = [place for place, each in enumerate(nodes) if each.kind != "exposure"]
        parents = draw(st.lists(st.sampled_from(readable), unique=True, max_size=3)) if readable else []
        sources = draw(st.lists(_SOURCES, unique=True, max_size=2))
        nodes.append(Node(kind, tuple(parents), tuple(sources)))
    return tuple(nodes)


@st.composite
def pipelines(draw: st.DrawFn) -> Pipeline:
    """A few applications that share datasets, with good, failed, repeated and pending writes, and dbt."""
    places = st.sampled_from(draw(st.lists(_PLACES, min_size=2, max_size=4, unique=True)))
    known = draw(st.lists(_plans(places), min_size=1, max_size=5))
    # Most plans ran, some more than once, and in several runs.
    ends = [draw(_ends(each)) for each in known]
    ends += [draw(_ends(draw(st.sampled_from(known)))) for _ in range(draw(st.integers(0, 4)))]
    if draw(st.booleans()):
        ends += draw(_hops(_plans(places)))
    return Pipeline(tuple(ends), draw(_projects()), tuple(draw(st.lists(_plans(places), max_size=1))))
