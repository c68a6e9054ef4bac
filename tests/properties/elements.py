"""Elements as any source could tell them: of few datasets, columns and jobs, so that they contradict.

In every name stands `HERE`, which `placed` replaces: so many drawn lists fit one merge.
"""

from typing import Any

from hypothesis import strategies as st

from lineage_merge.column_lineage.transformations import InfluenceKind, Transformation
from lineage_merge.model.elements import (
    Alias,
    Authority,
    Column,
    Dataset,
    Element,
    Feeds,
    FeedsColumn,
    Follows,
    Influences,
    Job,
    JobKey,
    Operation,
    Reference,
    Writes,
)

HERE = "@"

REFERENCES = st.sampled_from(
    [
        Reference("", "s3://@-b/x"),
        Reference("", "s3a://@-b/x/dt=1/part-00000"),
        Reference("", "s3://@-b/tmp/y"),
        Reference("", "s3://@-b/50% | é"),
        Reference("spark_catalog", "@.x"),
        Reference("spark_catalog", "@.y"),
        Reference("arn:aws:glue:eu-west-1:1", "table/@/x"),
        Reference("redshift://wh:5439", "dev.@.x"),
        Reference("@ any|thing%", "n%|ame"),
    ]
)
JOBS = st.sampled_from(
    [JobKey("spark", "@load"), JobKey("dbt", "model.@.x"), JobKey("sql", "@a|b%.sql"), JobKey("hive", "@ é")]
)
# No capitals that are newer than Unicode 13: Java 17 does not know their small letters, Python does.
COLUMNS = st.sampled_from(["a", "A", "b|%", "é", "É", "İ", "ΑΣ", "ας", "ẞ", "Ǆ", "Ⅷ", "😀", "a.b", " "])
TEXTS = st.sampled_from(["", "x", "y", "é", "😀z", "\n"])
_LABELS = st.sampled_from([None, "file", "table", "view"])
_AUTHORITIES = st.sampled_from(Authority)


def _properties(**values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=values)


_OF_DATASET = _properties(description=TEXTS, format=TEXTS, qualified_name=st.sampled_from(["t", "u"]))
_OF_COLUMN = _properties(data_type=TEXTS, position=st.integers(0, 20), description=TEXTS)
_OF_FLOW = _properties(write_mode=st.sampled_from(["append", "overwrite"]), sequence=st.integers(0, 20))
_SETS = _properties(tags=st.lists(TEXTS, max_size=3).map(tuple))
_VIA = _properties(
    via=st.lists(TEXTS, max_size=3).map(tuple), operations=st.lists(TEXTS, max_size=3).map(tuple)
)
_TRANSFORMATIONS = st.lists(
    st.sampled_from([each.name for each in Transformation]), min_size=1, max_size=3
).map(tuple)
_KINDS = st.lists(st.sampled_from([each.value for each in InfluenceKind]), min_size=1, max_size=3).map(tuple)
_STEPS = st.sampled_from(["1:op-0", "1:op-1", "2|%:op-0"])
_EXPRESSIONS = st.sampled_from(["", "a + 1", "é" * 999, "x" * 1500])

ELEMENTS: st.SearchStrategy[Element] = st.one_of(
    st.builds(Dataset, REFERENCES, _AUTHORITIES, _LABELS, _OF_DATASET, _SETS),
    st.builds(Column, REFERENCES, COLUMNS, _AUTHORITIES, _OF_COLUMN),
    st.builds(
        Job,
        JOBS,
        st.integers(0, 3),
        _properties(status=TEXTS, last_run_at=st.integers(0, 20), framework=TEXTS),
    ),
    st.builds(Writes, JOBS, REFERENCES),
    st.builds(Feeds, JOBS, REFERENCES, REFERENCES, _OF_FLOW, _VIA),
    st.builds(FeedsColumn, JOBS, REFERENCES, COLUMNS, REFERENCES, COLUMNS, _TRANSFORMATIONS, _EXPRESSIONS),
    st.builds(Influences, JOBS, REFERENCES, COLUMNS, REFERENCES, _KINDS),
    st.builds(
        Operation, JOBS, _STEPS, st.fixed_dictionaries({"name": st.sampled_from(["Project", "Filter"])})
    ),
    st.builds(Follows, JOBS, _STEPS, _STEPS),
    st.builds(Alias, REFERENCES, REFERENCES, st.sampled_from(["rule one", "two"]), st.booleans()),
)


@st.composite
def elements(draw: st.DrawFn) -> list[Element]:
    """Draw elements of sources.

    An edge or step of a job comes with the job and its steps, and another name of a dataset with the dataset.
    """
    found = draw(st.lists(ELEMENTS, max_size=12))
    jobs = dict.fromkeys(each.job for each in found if isinstance(each, Feeds | Writes | Operation | Follows))
    steps = {
        (each.job, key): None
        for each in found
        if isinstance(each, Follows)
        for key in (each.operation, each.consumed)
    }
    aliased = [Dataset(each.ref, Authority.READER, "table") for each in found if isinstance(each, Alias)]
    return [
        *(Job(each) for each in jobs),
        *(Operation(*each, {"name": "Join"}) for each in steps),
        *aliased,
        *found,
    ]


def placed(element: Any, here: str) -> Any:
    """An element, or a part of one, with `here` in all its names."""
    if isinstance(element, str):
        return element.replace(HERE, here)
    if hasattr(element, "_fields"):
        return type(element)(*(placed(each, here) for each in element))
    return element
