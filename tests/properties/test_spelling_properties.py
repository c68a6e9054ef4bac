"""Spellings of one dataset meet in one name, and two datasets never do."""

import string

from hypothesis import assume, given
from hypothesis import strategies as st

from lineage_merge.merge.dataset_resolver import DatasetResolver
from lineage_merge.merge.identity_rules import Rules
from lineage_merge.model.elements import DatasetName, Reference
from tests.properties.drawn import examples
from tests.properties.pipeline import WAREHOUSE, Kind, Mention, Place
from tests.properties.spelling import SPELLINGS, identity, uri

NAMES = DatasetResolver("dev", Rules(warehouses=(WAREHOUSE,), defaults={WAREHOUSE: "dev.public"}))
# Ordinary names, dates and numbers: nothing that a writer adds to a path.
_WORDS = st.one_of(
    st.text(string.ascii_letters + string.digits + "-é", min_size=1, max_size=7),
    st.sampled_from(["2008-01-02", "20080102", "v2", "sales.csv", "data", "metadata", "temporary"]),
)
_TABLES = st.from_regex(r"[a-z][a-z0-9_]{0,6}", fullmatch=True)
SCHEMAS = st.from_regex(r"[a-z][a-z0-9]{2,6}", fullmatch=True)


@st.composite
def _mentions(draw: st.DrawFn) -> Mention:
    kind = draw(st.sampled_from(Kind))
    name = draw(_TABLES if kind == Kind.WAREHOUSE else st.lists(_WORDS, min_size=1, max_size=3).map("/".join))
    return Mention(Place(kind, name), draw(st.integers(0, SPELLINGS[kind] - 1)))


def named(uri_of_it: str) -> DatasetName:
    name = NAMES.resolve(Reference("", uri_of_it)).name
    assert name is not None, uri_of_it
    return name


@examples(400)
@given(SCHEMAS, _mentions(), st.text(max_size=4))
def test_every_spelling_is_the_one_name(schema: str, mention: Mention, where: str) -> None:
    assert NAMES.resolve_id(Reference("", uri(schema, mention, where))) == identity(schema, mention.place)


@examples(300)
@given(SCHEMAS, _mentions(), _mentions())
def test_two_datasets_never_meet(schema: str, one: Mention, other: Mention) -> None:
    assume(one.place != other.place)

    # Below the folder of another kind a name of several parts may be the same path.
    if identity(schema, one.place) != identity(schema, other.place):
        assert named(uri(schema, one, "a")) != named(uri(schema, other, "b"))


@examples(300)
@given(SCHEMAS, _mentions())
def test_a_name_named_again_stays(schema: str, mention: Mention) -> None:
    name = named(uri(schema, mention, "a"))

    assert NAMES.resolve(Reference(*name)).name == name
    # And as a URI: how a subquery, a catalog or another source would write it.
    if name.namespace.startswith("s3:"):
        assert named(f"{name.namespace}/{name.name}") == name
