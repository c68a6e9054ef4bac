"""Addresses of dashboards that are equal, and exposures that are one with a dashboard."""

import pytest

from lineage_merge.merge.declared_dashboards import find_url, pair_exposures
from lineage_merge.model.elements import Dataset

ADDRESS = "https://eu-west-1.quicksight.aws.amazon.com/sn/dashboards/b1"


def url_of(address: str, label: str = "exposure") -> str:
    return find_url(Dataset("dev|dbt://shop|board", 4, label, {"url": address}))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "address",
    [
        f"{ADDRESS}/",
        f"{ADDRESS}/sheets/s1",
        f"{ADDRESS}/sheets/s1?p.region=EU#p.x=1",
        ADDRESS.replace("https://eu", "http://EU"),
        ADDRESS.replace("/sn/", "/sn/account/acme/"),
    ],
)
def test_addresses_of_one_dashboard_are_equal(address: str) -> None:
    assert url_of(address) == url_of(ADDRESS) != ""


@pytest.mark.parametrize(
    "address",
    [ADDRESS.replace("b1", "b2"), ADDRESS.replace("eu-west-1", "us-east-1"), ADDRESS.replace("b1", "B1")],
)
def test_addresses_of_other_dashboards_differ(address: str) -> None:
    assert url_of(address) != url_of(ADDRESS)


@pytest.mark.parametrize("address", ["", "see the wiki", "://"])
def test_what_is_no_address_joins_nothing(address: str) -> None:
    assert url_of(address) == ""


def test_only_exposures_have_addresses() -> None:
    assert url_of(ADDRESS, "table") == ""


DBT, OTHER_DBT = "dev|dbt://shop|board", "dev|dbt://crm|board"
ONE, TWO = (
    "dev|arn:aws:quicksight:eu-west-1:1|dashboard/b1",
    "dev|arn:aws:quicksight:eu-west-1:2|dashboard/b1",
)


@pytest.mark.parametrize(
    ("exposures", "pairs"),
    [
        ([DBT, ONE], [(DBT, ONE)]),
        ([ONE, OTHER_DBT, DBT], [(OTHER_DBT, ONE), (DBT, ONE)]),
        ([DBT], []),
        ([ONE], []),
        ([DBT, ONE, TWO], []),
        ([DBT, OTHER_DBT], []),
    ],
)
def test_dbt_exposures_are_the_only_dashboard_of_their_address(
    exposures: list[str], pairs: list[tuple[str, str]]
) -> None:
    assert pair_exposures(exposures) == pairs
