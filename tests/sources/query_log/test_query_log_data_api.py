"""Reading Redshift's system views through the Data API."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.model.errors import SourceError
from lineage_merge.sources.query_log import data_api, doctor
from lineage_merge.sources.query_log.redshift_views import HISTORY, TRANSACTIONS
from lineage_merge.sources.query_log.settings import QueryLog
from tests.sources.query_log.log_reading import NAMESPACE, LogLineage, read_entries, read_log
from tests.sources.query_log.redshift_standin import Cluster, Clusters
from tests.sources.query_log.test_query_log_week import week

CLUSTER = {
    "format": "redshift",
    "cluster": "wh",
    "database": "dw",
    "db_user": "lineage",
    "namespace": NAMESPACE,
    "region": "us-east-1",
}


@pytest.fixture
def cluster(clusters: Clusters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """A cluster with the team's week, on the day after it."""
    clusters["wh"].show_files(week(tmp_path))
    monkeypatch.setattr(data_api, "_DAYS", 3)
    monkeypatch.setattr(data_api, "datetime", _Today)
    return clusters["wh"]


class _Today(data_api.datetime):  # type: ignore[name-defined, misc]
    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return cls(2026, 11, 3, 5, tzinfo=tz)


def edges(lineage: LogLineage) -> tuple[set[str], set[str], set[str]]:
    return lineage.feeds, lineage.columns, lineage.influences


def test_the_api_gives_the_lineage_of_the_files(cluster: Cluster, tmp_path: Path) -> None:
    from_files = read_log(LocalEngine(), tmp_path / "history")

    found = read_entries(LocalEngine(), [CLUSTER])

    assert edges(found) == edges(from_files)
    assert found.runs == from_files.runs
    assert len(edges(found)[0]) == 12


def test_without_the_view_of_transactions_rollback_statements_count(cluster: Cluster) -> None:
    cluster.denied.add(TRANSACTIONS)

    found = read_entries(LocalEngine(), [CLUSTER])

    assert not [
        each for each in found.feeds if "mart.never" in each or "landing.clicks > core.customers" in each
    ]
    assert "core.load_orders: landing.orders > core.orders" in found.feeds


def test_a_denied_view_is_one_clear_line(cluster: Cluster) -> None:
    cluster.denied.add("sys_load_detail")
    assert any(
        "permission denied for relation sys_load_detail" in each[3]
        for each in read_entries(LocalEngine(), [CLUSTER]).problems
    )

    cluster.denied.add(HISTORY)
    with pytest.raises(
        SourceError, match="redshift wh: ERROR: permission denied for relation sys_query_history"
    ):
        read_entries(LocalEngine(), [CLUSTER])


def test_doctor_says_whose_statements_are_visible(cluster: Cluster) -> None:
    log = _settings(CLUSTER)
    ((only_own,),) = ([*doctor.CHECKS[0].examine((log,))],)
    assert only_own.state == "warning"
    assert "sys:monitor" in only_own.fix
    cluster.tables[HISTORY][0]["user_id"] = "101"
    ((all_users,),) = ([*doctor.CHECKS[0].examine((log,))],)
    assert (all_users.state, all_users.message) == ("ok", "redshift wh: statements of 2 users are visible")


def _settings(entry: Mapping[str, Any]) -> QueryLog:
    from lineage_merge.sources.query_log.settings import parse

    return parse([entry])[0]
