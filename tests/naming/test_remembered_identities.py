"""Identities that are computed once: what a process remembers changes no identity and is not pickled."""

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


def test_an_identity_is_the_same_whether_it_is_remembered_or_not() -> None:
    fresh = replace(NAMES)

    first = [fresh.identity(ref) for ref in (GOOD, BAD)]

    assert [fresh.identity(ref) for ref in (GOOD, BAD)] == first
    assert [replace(NAMES).identity(ref) for ref in (GOOD, BAD)] == first
    assert [each.name is None for each in first] == [False, True]


def test_other_settings_do_not_share_what_is_remembered() -> None:
    NAMES.identity(GOOD)

    other = replace(NAMES, catalogs={"hive": "s3://other"})

    assert len(other._remembered) == 0


def test_what_is_remembered_is_not_pickled() -> None:
    NAMES.identity(GOOD)

    copied = pickle.loads(pickle.dumps(NAMES))

    assert copied == NAMES
    assert len(copied._remembered) == 0
    assert copied.identity(GOOD) == NAMES.identity(GOOD)


def test_only_so_many_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset_resolver, "_MOST_REMEMBERED", 2)
    fresh = replace(NAMES)

    for number in range(5):
        fresh.identity(Reference("", f"s3://bucket/{number}", "job"))

    assert len(fresh._remembered) == 1
