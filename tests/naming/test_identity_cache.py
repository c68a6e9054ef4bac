"""Cache of identities: it changes no identity and is not pickled."""

import pickle
from dataclasses import replace

import pytest

from lineage_merge.merge import dataset_resolver
from lineage_merge.model.elements import Reference
from lineage_merge.orchestration.configuration import CONFIGURATION

NAMES = dataset_resolver.from_config(
    CONFIGURATION.parse({"dag_name": "d", "environment": "dev", "spline": {"export": "/x"}})
)
GOOD = Reference("", "s3://bucket/table", "job")
BAD = Reference("", "jdbc:", "job")


def test_a_cached_identity_is_the_same() -> None:
    fresh = replace(NAMES)

    first = [fresh.resolve(ref) for ref in (GOOD, BAD)]

    assert [fresh.resolve(ref) for ref in (GOOD, BAD)] == first
    assert [replace(NAMES).resolve(ref) for ref in (GOOD, BAD)] == first
    assert [each.name is None for each in first] == [False, True]


def test_other_settings_do_not_share_the_cache() -> None:
    NAMES.resolve(GOOD)

    other = replace(NAMES, catalogs={"hive": "s3://other"})

    assert len(other._cache) == 0


def test_the_cache_is_not_pickled() -> None:
    NAMES.resolve(GOOD)

    copied = pickle.loads(pickle.dumps(NAMES))

    assert copied == NAMES
    assert len(copied._cache) == 0
    assert copied.resolve(GOOD) == NAMES.resolve(GOOD)


def test_the_cache_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset_resolver, "_MAX_CACHED", 2)
    fresh = replace(NAMES)

    for number in range(5):
        fresh.resolve(Reference("", f"s3://bucket/{number}", "job"))

    assert len(fresh._cache) == 1
