"""Reading Redshift's system views through the Data API."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.model.errors import ConfigError, SourceError
from lineage_merge.sources.query_log import doctor
from lineage_merge.sources.query_log.logs import archive, archive_layout, data_api
from lineage_merge.sources.query_log.logs.redshift_views import HISTORY, TRANSACTIONS
from lineage_merge.sources.query_log.settings import QueryLog
from lineage_merge.sources.registry import QUERY_LOG
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
    monkeypatch.setattr(data_api, "_DAYS", 2)
    monkeypatch.setattr(archive_layout, "RETENTION", timedelta(hours=5))  # one interval
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


def test_statements_that_are_in_an_archive_and_behind_the_api_count_once(
    cluster: Cluster, tmp_path: Path
) -> None:
    """Sessions are read as one: the API has all statements, the archive those of the first half minute."""
    archived = {**CLUSTER, "archive": "s3://logs/history"}
    (log,) = QUERY_LOG.parse([archived])
    archive.archive(log, datetime(2026, 11, 2, 6, 0, 30, tzinfo=UTC), lambda _line: None)
    cluster.denied.add(TRANSACTIONS)

    found = read_entries(LocalEngine(), [CLUSTER, archived])

    expected = read_log(LocalEngine(), tmp_path / "history")
    assert edges(found) == edges(expected)
    assert (found.runs, found.reads, found.counts) == (expected.runs, expected.reads, expected.counts)
    assert found.observed == expected.observed


def test_the_observed_time_begins_with_what_the_api_has_if_the_archive_ended_before(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    archived = {**CLUSTER, "archive": "s3://logs/history"}
    (log,) = QUERY_LOG.parse([archived])
    archive.archive(log, datetime(2026, 11, 2, 6, 0, 30, tzinfo=UTC), lambda _line: None)
    monkeypatch.setattr(data_api, "RETENTION", timedelta(hours=22, minutes=59, seconds=20))

    found = read_entries(LocalEngine(), [CLUSTER, archived])

    ((begin, _),) = found.observed.values()
    assert begin == datetime(2026, 11, 2, 6, 0, 40, tzinfo=UTC).timestamp() * 1000


@pytest.mark.parametrize(("key", "value"), [("usage", False), ("lookback", 7), ("search_path", ["etl"])])
def test_logs_of_one_warehouse_are_read_alike(key: str, value: Any) -> None:
    other = {"format": "redshift", "path": "/history", "namespace": NAMESPACE, key: value}

    with pytest.raises(
        ConfigError, match=rf"query_log\[1\].{key}: query_log\[0\] has the same namespace, and"
    ):
        QUERY_LOG.parse([CLUSTER, other])


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
    return QUERY_LOG.parse([entry])[0]
