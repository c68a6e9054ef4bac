"""Corrections of names that a merge resolves differently than the graph. No graph."""

import pytest

from lineage_merge.load.renames import Name, NameCorrection, StoredName, list_stored_names
from lineage_merge.merge.alias_resolution import ALIAS, CONFIGURED, EVERYWHERE, OWN

PATH, TABLE, OTHER = "dev|s3://b|tmp/sales", "dev|redshift://h:5439|dev.public.sales", "dev|hive|db.sales"
RULE = "s3://b|tmp/sales (rule)"
RESOLVED = "daily|rule|s3://b|tmp/sales"


def name(**resolves_to: set[str]) -> Name:
    by_id = {"path": PATH, "table": TABLE, "other": OTHER}
    return Name(PATH, {by_id[each]: how for each, how in resolves_to.items()}, is_stored=True, is_tagged=True)


def test_the_vertex_of_a_location_that_a_rule_resolves_for_every_dag_is_moved() -> None:
    found = name(table={EVERYWHERE})
    assert list(found.changes()) == [NameCorrection("move", PATH, TABLE)]
    found.is_stored = found.is_tagged = False
    assert list(found.changes()) == []


@pytest.mark.parametrize(
    "resolves_to",
    [
        {"table": {CONFIGURED}},
        {"table": {EVERYWHERE, CONFIGURED}},
        {"table": {EVERYWHERE}, "other": {EVERYWHERE}},
        {"table": {EVERYWHERE}, "path": {OWN}},
    ],
)
def test_a_partially_resolved_name_only_loses_edges_of_the_dag(
    resolves_to: dict[str, set[str]],
) -> None:
    others = [each for each in (OTHER, TABLE) if each != PATH and each in name(**resolves_to).resolves_to]
    assert list(name(**resolves_to).changes()) == [NameCorrection("edges", PATH, each) for each in others]


def test_a_name_with_a_node_in_the_merge_is_not_moved() -> None:
    found = name(table={EVERYWHERE})
    found.in_merge = True
    assert list(found.changes()) == [NameCorrection("edges", PATH, TABLE)]


def test_the_effect_of_a_removed_rule_is_reverted() -> None:
    found = name(path={OWN})
    found.stored = [StoredName(TABLE, RULE, RESOLVED)]
    assert list(found.changes()) == [
        NameCorrection("ignore", TABLE, value=RULE),
        NameCorrection("edges", TABLE, PATH),
        NameCorrection("remove", TABLE, property="resolved_names", value=RESOLVED),
        NameCorrection("remove", TABLE, property="aliases", value=RULE),
    ]


def test_an_alias_that_another_dag_also_has_stays() -> None:
    found = name(path={OWN})
    found.stored = [StoredName(TABLE, RULE, RESOLVED, elsewhere=True)]
    assert list(found.changes()) == [
        NameCorrection("edges", TABLE, PATH),
        NameCorrection("remove", TABLE, property="resolved_names", value=RESOLVED),
    ]


def test_a_rule_with_a_new_target_moves_the_edges_there() -> None:
    found = name(other={EVERYWHERE})
    found.is_stored = found.is_tagged = False
    found.stored = [StoredName(TABLE, RULE, RESOLVED)]
    assert list(found.changes()) == [
        NameCorrection("edges", TABLE, OTHER),
        NameCorrection("remove", TABLE, property="resolved_names", value=RESOLVED),
        NameCorrection("remove", TABLE, property="aliases", value=RULE),
    ]


def test_a_rule_for_one_of_two_applications_only_changes_followed_aliases() -> None:
    found = name(table={CONFIGURED}, path={OWN})
    found.stored = [StoredName(TABLE, RULE, RESOLVED)]
    assert list(found.changes()) == [
        NameCorrection("edges", PATH, TABLE),
        NameCorrection("ignore", TABLE, value=RULE),
    ]


def test_an_unresolved_location_keeps_aliases_of_a_catalog() -> None:
    found = name(path={OWN})
    found.stored = [StoredName(TABLE, "s3://b|tmp/sales (openlineage-symlink)")]
    assert list(found.changes()) == []


@pytest.mark.parametrize("shared", [False, True])
def test_a_table_with_a_new_location_loses_the_alias_of_its_old_path(shared: bool) -> None:
    found = name(other={ALIAS})
    found.is_stored = found.is_tagged = False
    found.stored = [StoredName(TABLE, "an alias", elsewhere=shared)]
    removed = [NameCorrection("remove", TABLE, property="aliases", value="an alias")]
    assert list(found.changes()) == [NameCorrection("edges", TABLE, OTHER), *([] if shared else removed)]


def test_the_names_of_a_vertex_are_the_dags_and_unconfigured_ones() -> None:
    resolved = [RESOLVED, "weekly|rule|s3://b|tmp/sales", "daily|default-schema|hive|a%7Cb", "weekly|x|y|z"]
    aliases = [RULE, "y|z (x)", "hive|db.t (catalog-table)", "no name"]
    assert list(list_stored_names(TABLE, resolved, aliases, True, "dev", "daily")) == [
        (PATH, StoredName(TABLE, RULE, RESOLVED, elsewhere=True)),
        ("dev|hive|a%7Cb", StoredName(TABLE, "hive|a|b (default-schema)", "daily|default-schema|hive|a%7Cb")),
        ("dev|hive|db.t", StoredName(TABLE, "hive|db.t (catalog-table)", elsewhere=True)),
    ]
