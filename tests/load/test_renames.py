"""What follows where a merge resolves a name otherwise than the graph holds it. Without a graph."""

import pytest

from lineage_merge.load.renames import Change, Name, StoredName, stored_names
from lineage_merge.merge.resolved_names import ALIAS, CONFIGURED, EVERYWHERE, OWN

PATH, TABLE, OTHER = "dev|s3://b|tmp/sales", "dev|redshift://h:5439|dev.public.sales", "dev|hive|db.sales"
RULE = "s3://b|tmp/sales (rule)"
RESOLVED = "daily|rule|s3://b|tmp/sales"


def name(**resolves_to: set[str]) -> Name:
    by_id = {"path": PATH, "table": TABLE, "other": OTHER}
    return Name(PATH, {by_id[each]: how for each, how in resolves_to.items()}, is_stored=True, is_tagged=True)


def test_the_vertex_of_a_location_that_a_rule_resolves_for_every_dag_is_moved() -> None:
    found = name(table={EVERYWHERE})
    assert list(found.changes()) == [Change("move", PATH, TABLE)]
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
def test_a_name_that_means_something_else_in_one_place_only_loses_edges_of_the_dag(
    resolves_to: dict[str, set[str]],
) -> None:
    others = [each for each in (OTHER, TABLE) if each != PATH and each in name(**resolves_to).resolves_to]
    assert list(name(**resolves_to).changes()) == [Change("edges", PATH, each) for each in others]


def test_a_name_that_the_merge_has_a_node_of_is_not_moved() -> None:
    found = name(table={EVERYWHERE})
    found.in_merge = True
    assert list(found.changes()) == [Change("edges", PATH, TABLE)]


def test_a_rule_that_no_longer_holds_is_taken_back() -> None:
    found = name(path={OWN})
    found.stored = [StoredName(TABLE, RULE, RESOLVED)]
    assert list(found.changes()) == [
        Change("ignore", TABLE, value=RULE),
        Change("edges", TABLE, PATH),
        Change("remove", TABLE, property="resolved_names", value=RESOLVED),
        Change("remove", TABLE, property="aliases", value=RULE),
    ]


def test_what_another_dag_says_too_stays_an_alias_that_is_followed() -> None:
    found = name(path={OWN})
    found.stored = [StoredName(TABLE, RULE, RESOLVED, elsewhere=True)]
    assert list(found.changes()) == [
        Change("edges", TABLE, PATH),
        Change("remove", TABLE, property="resolved_names", value=RESOLVED),
    ]


def test_a_rule_that_names_another_dataset_moves_the_edges_there() -> None:
    found = name(other={EVERYWHERE})
    found.is_stored = found.is_tagged = False
    found.stored = [StoredName(TABLE, RULE, RESOLVED)]
    assert list(found.changes()) == [
        Change("edges", TABLE, OTHER),
        Change("remove", TABLE, property="resolved_names", value=RESOLVED),
        Change("remove", TABLE, property="aliases", value=RULE),
    ]


def test_a_rule_that_holds_for_one_of_two_applications_changes_nothing_but_what_is_followed() -> None:
    found = name(table={CONFIGURED}, path={OWN})
    found.stored = [StoredName(TABLE, RULE, RESOLVED)]
    assert list(found.changes()) == [Change("edges", PATH, TABLE), Change("ignore", TABLE, value=RULE)]


def test_a_location_of_its_own_name_takes_nothing_back_that_a_catalog_knew() -> None:
    found = name(path={OWN})
    found.stored = [StoredName(TABLE, "s3://b|tmp/sales (openlineage-symlink)")]
    assert list(found.changes()) == []


@pytest.mark.parametrize("shared", [False, True])
def test_a_table_that_a_catalog_has_elsewhere_now_is_an_alias_of_its_old_path_no_more(shared: bool) -> None:
    found = name(other={ALIAS})
    found.is_stored = found.is_tagged = False
    found.stored = [StoredName(TABLE, "an alias", elsewhere=shared)]
    removed = [Change("remove", TABLE, property="aliases", value="an alias")]
    assert list(found.changes()) == [Change("edges", TABLE, OTHER), *([] if shared else removed)]


def test_the_names_of_a_vertex_are_those_of_the_dag_and_those_that_no_configuration_gave() -> None:
    resolved = [RESOLVED, "weekly|rule|s3://b|tmp/sales", "daily|default-schema|hive|a%7Cb", "weekly|x|y|z"]
    aliases = [RULE, "y|z (x)", "hive|db.t (catalog-table)", "no name"]
    assert list(stored_names(TABLE, resolved, aliases, True, "dev", "daily")) == [
        (PATH, StoredName(TABLE, RULE, RESOLVED, elsewhere=True)),
        ("dev|hive|a%7Cb", StoredName(TABLE, "hive|a|b (default-schema)", "daily|default-schema|hive|a%7Cb")),
        ("dev|hive|db.t", StoredName(TABLE, "hive|db.t (catalog-table)", elsewhere=True)),
    ]
