"""The archive of Redshift's system views: what is due, what is written, and what a run reads of it."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from lineage_merge.infra import storage
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.storage import StoredFile
from lineage_merge.model.errors import ConfigError, SourceDenied, SourceError, SourceMissing
from lineage_merge.sources.query_log import doctor
from lineage_merge.sources.query_log.discovery import QueryLogDiscovery
from lineage_merge.sources.query_log.logs import archive, archive_layout, redshift
from lineage_merge.sources.query_log.logs.archive_layout import (
    Interval,
    due_intervals,
    gaps,
    parse_interval,
    recent_files,
)
from lineage_merge.sources.query_log.logs.redshift_views import HISTORY, TRANSACTIONS
from lineage_merge.sources.query_log.settings import QueryLog
from lineage_merge.sources.registry import QUERY_LOG
from tests.command_line import in_process
from tests.s3_fixtures import S3
from tests.sources.query_log.log_reading import NAMESPACE, LogLineage, read_entries, read_log
from tests.sources.query_log.redshift_history import History
from tests.sources.query_log.redshift_standin import Clusters
from tests.sources.query_log.test_query_log_week import week

ARCHIVE = "s3://logs/history"
ENTRY: dict[str, Any] = {
    "format": "redshift",
    "cluster": "wh",
    "database": "dw",
    "db_user": "lineage",
    "namespace": NAMESPACE,
    "region": "us-east-1",
    "archive": ARCHIVE,
    "iam_role": "arn:aws:iam::111122223333:role/unload",
}
LOG = QUERY_LOG.parse([ENTRY])[0]
COPIED = "insert into mart.t (a) select b from raw.s"


def at(day: int, hour: int = 0, minute: int = 0) -> datetime:
    """A time in November 2026; made-up histories begin on the 2nd at 6."""
    return datetime(2026, 11, day, hour, minute, tzinfo=UTC)


def days(*ends: datetime) -> list[Interval]:
    """Intervals that follow one another."""
    return [Interval(start, end) for start, end in pairwise(ends)]


@pytest.fixture
def clusters(clusters: Clusters, monkeypatch: pytest.MonkeyPatch) -> Clusters:
    """Clusters whose views keep five hours, so that a first archive has one interval."""
    monkeypatch.setattr(archive_layout, "RETENTION", timedelta(hours=5))
    return clusters


@pytest.fixture
def retained_for_a_day(clusters: Clusters, monkeypatch: pytest.MonkeyPatch) -> Clusters:
    """Clusters whose views keep a day, so that a first archive has two intervals."""
    monkeypatch.setattr(archive_layout, "RETENTION", timedelta(days=1))
    return clusters


def written(now: datetime, log: QueryLog = LOG) -> archive.Archived:
    return archive.archive(log, now, lambda _line: None)


def lineage(entry: dict[str, Any] = ENTRY) -> LogLineage:
    return read_entries(LocalEngine(), [entry])


def everything(found: LogLineage) -> Any:
    return found.feeds, found.columns, found.influences, found.runs


# ---- what is due


def test_a_first_archive_takes_all_that_the_views_have_in_days() -> None:
    due = due_intervals([], [], at(9, 5))

    assert due == days(at(2, 5), *(at(day) for day in range(3, 10)), at(9, 5))
    assert all(each.end - each.start <= timedelta(days=1) for each in due)


def test_an_archive_continues_before_the_end_of_the_newest_interval() -> None:
    assert due_intervals(days(at(8), at(8, 5), at(8, 6)), [], at(9, 6)) == days(at(8, 4), at(9), at(9, 6))


def test_an_interrupted_interval_keeps_its_name() -> None:
    complete, interrupted = days(at(7), at(8)), days(at(8), at(8, 5))

    due = due_intervals(complete, interrupted, at(8, 7))

    assert due == [*days(at(7, 22), at(8)), *days(at(8), at(8, 5), at(8, 7))]
    assert due_intervals([*complete, *days(at(8), at(8, 6))], interrupted, at(8, 7)) == days(
        at(8, 4), at(8, 7)
    )


def test_after_a_pause_of_more_than_seven_days_there_is_a_gap() -> None:
    complete = days(at(1), at(2))

    complete += due_intervals(complete, [], at(12))

    assert complete[1].start == at(5)
    assert gaps(complete) == days(at(2), at(5))
    assert gaps(days(at(1), at(2), at(3))) == []


def test_names_of_folders_are_intervals() -> None:
    (interval,) = days(at(2), at(3))

    assert interval.name == "20261102T000000Z_20261103T000000Z"
    assert parse_interval(interval.name) == interval
    assert parse_interval("20261302T000000Z_20261103T000000Z") is None
    assert parse_interval("2026-11-02") is None


def test_intervals_before_the_lookback_are_left_out() -> None:
    names = [each.name for each in days(at(1), at(2), at(3), at(4))]
    files = [StoredFile(f"s3://b/h/{HISTORY}/{name}/0", 1) for name in names]
    others = [StoredFile(f"s3://b/h/{HISTORY}/2025-01-01/000.csv", 1)]

    assert recent_files(others + files, timedelta(days=1), at(5)) == others + files[2:]
    assert recent_files(others, timedelta(days=1), at(5)) == others
    # The end of the last one cannot be right: it is read, and the lookback ends with the one before.
    assert recent_files(others + files, timedelta(days=1), at(3)) == others + files[1:]


# ---- what is written and read


@pytest.mark.usefixtures("retained_for_a_day")
def test_the_archive_gives_the_lineage_of_the_views(clusters: Clusters, tmp_path: Path) -> None:
    clusters["wh"].show_files(week(tmp_path))
    from_files = read_log(LocalEngine(), tmp_path / "history")

    done = written(at(3, 5))

    assert everything(lineage()) == everything(from_files)
    assert len(from_files.feeds) == 12
    assert done.intervals == (
        "2026-11-02 05:00 to 2026-11-03 00:00 UTC",
        "2026-11-03 00:00 to 2026-11-03 05:00 UTC",
    )
    assert (done.archive, len(done.views)) == (f"{ARCHIVE}/wh", 10)
    by_path = {name: ENTRY[name] for name in ("format", "namespace")} | {"path": f"{ARCHIVE}/wh"}
    assert everything(lineage(by_path)) == everything(from_files)


def test_a_second_archive_adds_no_statement_twice(clusters: Clusters, tmp_path: Path) -> None:
    clusters["wh"].show_files(week(tmp_path))
    for hour in (8, 9):
        written(at(2, hour))

    assert everything(lineage()) == everything(read_log(LocalEngine(), tmp_path / "history"))
    assert [each.name for each in archive.list_complete_intervals(LOG)][-2:] == [
        "20261102T030000Z_20261102T080000Z",
        "20261102T060000Z_20261102T090000Z",
    ]


def test_an_empty_cluster_has_an_empty_archive(clusters: Clusters) -> None:
    clusters["wh"].tables = {}

    written(at(5))
    assert [each[3] for each in lineage().problems] == ["no statements found"]

    for file in storage.list_files(f"{ARCHIVE}/wh/{HISTORY}"):  # if Redshift writes no file for no row
        storage.delete_file(file.location)
    assert [each[3] for each in lineage().problems] == ["no statements found"]


def test_without_an_archive_a_run_says_what_to_do(clusters: Clusters) -> None:
    with pytest.raises(SourceMissing, match=r"history/wh: no files found: run lineage-merge archive-history"):
        redshift.files_of(LOG)


@pytest.mark.usefixtures("retained_for_a_day")
def test_an_interrupted_archive_is_continued(clusters: Clusters, tmp_path: Path) -> None:
    cluster = clusters["wh"]
    cluster.show_files(week(tmp_path))
    cluster.unload_error = lambda view: "ERROR: restarted" if view == "sys_load_detail" else ""
    with pytest.raises(SourceError, match="redshift wh: ERROR: restarted"):
        written(at(2, 9))
    assert archive.list_complete_intervals(LOG) == []
    # What is there is read, and is harmless.
    assert lineage().feeds <= read_log(LocalEngine(), tmp_path / "history").feeds

    cluster.unload_error = lambda _view: ""
    written(at(2, 10))

    assert archive.due(LOG, at(2, 10)) == days(at(2, 8), at(2, 10))
    assert everything(lineage()) == everything(read_log(LocalEngine(), tmp_path / "history"))
    folders = storage.children(f"{ARCHIVE}/wh/{HISTORY}")
    assert folders == [each.name for each in archive.list_complete_intervals(LOG)]


@pytest.mark.usefixtures("retained_for_a_day")
def test_a_statement_that_runs_across_the_boundary_counts_once_as_it_ended(clusters: Clusters) -> None:
    history = History()
    history.session(1).run(COPIED)
    row = history.rows[HISTORY][0]
    row |= {"status": "running", "end_time": ""}
    transactions = history.rows.pop(TRANSACTIONS)
    clusters["wh"].show(history)
    written(at(2, 7))
    assert lineage().feeds == set()

    row |= {"status": "success", "end_time": "2026-11-02 17:00:00"}  # began long before the overlap
    history.rows[TRANSACTIONS] = [transactions[0] | {"commit_end_time": "2026-11-02 17:00:01"}]
    clusters["wh"].show(history)
    written(at(2, 18))

    read = lineage()
    assert read.feeds == {"mart.t #: raw.s > mart.t"}
    assert read.runs == {"mart.t #": 1}


def test_intervals_without_the_view_of_transactions_keep_their_lineage(clusters: Clusters) -> None:
    """Of the later interval, whose view of transactions is there, only what was committed counts."""
    history = History()
    early = history.session(1)
    early.run(COPIED)
    early.run("copy mart.loaded from 's3://raw/loaded/' iam_role default csv")
    with early.transaction(commit=False):
        early.run("insert into mart.undone (a) select b from raw.s")
    history._at += timedelta(hours=2)
    with early.one_transaction(is_committed=False):
        early.run("insert into mart.lost_connection (a) select b from raw.s")
    history._at += timedelta(hours=3)
    late = history.session(2)
    late.run("insert into mart.u (a) select b from raw.s")
    late.run("insert into mart.open (a) select b from raw.s")
    history.rows[TRANSACTIONS].pop()
    cluster = clusters["wh"]
    cluster.show(history)
    cluster.denied.add(TRANSACTIONS)
    written(at(2, 9))
    cluster.denied.clear()
    written(at(2, 12))

    feeds = {
        "mart.t #: raw.s > mart.t",
        "mart.loaded #: s3://raw/loaded > mart.loaded",
        "mart.u #: raw.s > mart.u",
    }
    assert lineage().feeds == feeds


def test_an_interrupted_interval_does_not_lack_the_view_of_transactions(clusters: Clusters) -> None:
    history = History()
    history.session(1).run(COPIED)
    clusters["wh"].show(history)
    written(at(2, 9))
    history._at += timedelta(hours=5)
    with history.session(1).one_transaction(is_committed=False):
        history.session(1).run("insert into mart.u (a) select b from raw.s")
    clusters["wh"].show(history)
    clusters["wh"].unload_error = lambda view: "ERROR: restarted" if view == TRANSACTIONS else ""
    with pytest.raises(SourceError):
        written(at(2, 12))

    assert lineage().feeds == {"mart.t #: raw.s > mart.t"}


@pytest.mark.usefixtures("retained_for_a_day")
def test_the_observed_time_begins_after_the_last_gap(clusters: Clusters) -> None:
    history = History()
    history.session(1).run("select a from core.s")
    clusters["wh"].show(history)
    written(at(2, 9))
    history._at += timedelta(days=7)
    history.session(1).run("select a from core.s")
    clusters["wh"].show(history)

    written(at(9, 9))

    observed = lineage().observed
    ((begin, _),) = observed.values()
    assert begin == at(8, 9).timestamp() * 1000
    by_path = {name: ENTRY[name] for name in ("format", "namespace")} | {"path": f"{ARCHIVE}/wh"}
    assert lineage(by_path).observed == observed


@pytest.mark.usefixtures("retained_for_a_day")
def test_the_last_gap_of_an_archive_that_has_nothing_newer(clusters: Clusters) -> None:
    history = History()
    for _ in range(2):
        history.session(1).run("select a from core.s")
    clusters["wh"].show(history)
    written(at(2, 9))
    written(at(9, 9))

    ((begin, end),) = lineage().observed.values()
    assert begin == end


def test_statements_in_two_intervals_count_once(clusters: Clusters) -> None:
    history = History()
    history.session(1).run(COPIED)
    clusters["wh"].show(history)
    written(at(2, 7))
    written(at(2, 8))

    read = lineage()
    assert read.counts == {"logged statements": 1}
    assert read.reads == {"raw.s": 1, "raw.s#b": 1}


def test_clusters_in_one_archive_do_not_mix(clusters: Clusters) -> None:
    other = ENTRY | {"cluster": "other", "namespace": "redshift://other.us-east-1:5439"}
    for name, table in (("wh", "mart.t"), ("other", "mart.u")):
        history = History()
        history.session(1).run(f"insert into {table} (a) select b from raw.s")
        clusters[name].show(history)

    done, errors = archive.archive_all(QUERY_LOG.parse([ENTRY, other]), at(2, 7), lambda _line: None)

    assert [each.archive for each in done] == [f"{ARCHIVE}/wh", f"{ARCHIVE}/other"]
    assert errors == []
    assert lineage().feeds == {"mart.t #: raw.s > mart.t"}
    assert [*lineage(other).jobs] == ["mart.u #"]


def test_a_cluster_that_fails_costs_no_other_its_history(clusters: Clusters) -> None:
    clusters["wh"].denied.add(HISTORY)
    other = ENTRY | {"cluster": "other", "namespace": "redshift://other.us-east-1:5439"}

    done, errors = archive.archive_all(QUERY_LOG.parse([ENTRY, other]), at(2, 7), lambda _line: None)

    assert [each.warehouse for each in done] == ["redshift other"]
    assert [error.message for error in errors] == [
        f"redshift wh: ERROR: permission denied for relation {HISTORY}"
    ]


def test_one_folder_is_the_archive_of_one_warehouse() -> None:
    with pytest.raises(ConfigError, match=r"query_log\[1\].archive: s3://logs/history/wh is the archive of"):
        QUERY_LOG.parse([ENTRY, ENTRY | {"namespace": "redshift://wh.eu-west-1:5439"}])


def test_a_throttled_or_busy_cluster_is_asked_again(clusters: Clusters) -> None:
    clusters.throttled = ["ActiveStatementsExceededException", "ThrottlingException"]

    written(at(2, 7))

    assert clusters.throttled == []
    assert archive.due(LOG, at(2, 7)) == days(at(2, 5), at(2, 7))


ROLE = "arn:aws:iam::111122223333:role/unload"


@pytest.mark.parametrize(
    ("log", "problem", "expected"),
    [
        (
            LOG,
            "ERROR: S3ServiceException:Access Denied,Status 403,Error AccessDenied",
            f"allow s3:PutObject and s3:ListBucket on {ARCHIVE}/wh to {ROLE} (deploy/iam/",
        ),
        (
            LOG,
            f"ERROR: User arn:aws:redshift:us-east-1:1:dbuser:wh/x is not authorized to assume {ROLE}",
            f"associate {ROLE} with the cluster",
        ),
        (
            replace(LOG, iam_role="default"),
            "ERROR: default IAM role is not set for this cluster",
            "make a role the cluster's default, or set query_log[].iam_role",
        ),
    ],
)
def test_a_denied_unload_says_which_grant_is_missing(
    clusters: Clusters, log: QueryLog, problem: str, expected: str
) -> None:
    clusters["wh"].unload_error = lambda _view: problem

    with pytest.raises(SourceDenied) as raised:
        written(at(2, 7), log)

    assert raised.value.message.startswith(f"redshift wh: {problem}: ")
    assert expected in raised.value.message


@pytest.mark.usefixtures("retained_for_a_day")
def test_a_view_that_may_not_be_read_is_left_out(clusters: Clusters) -> None:
    clusters["wh"].denied |= {TRANSACTIONS, "svv_external_tables"}

    done = written(at(2, 7))

    assert done.notices == (
        f"redshift wh: only statements of 0 user are visible: {archive.GRANT}",
        f"redshift wh: ERROR: permission denied for relation {TRANSACTIONS}",
        "redshift wh: ERROR: permission denied for relation svv_external_tables",
    )
    assert not {TRANSACTIONS, "svv_external_tables"} & {*done.views}
    assert sum(f"from {TRANSACTIONS}" in sql for sql in clusters["wh"].statements) == 1


def test_own_statements_are_no_lineage(clusters: Clusters) -> None:
    written(at(2, 7))
    history = History()
    session = history.session(1)
    for sql in clusters["wh"].statements:
        session.run(sql)
    session.run(COPIED)
    clusters["wh"].show(history)
    written(at(2, 8))

    assert any("unload" in sql for sql in clusters["wh"].statements)
    read = lineage()
    assert read.feeds == {"mart.t #: raw.s > mart.t"}
    assert [*read.jobs] == ["mart.t #"]


def test_old_intervals_are_not_opened(clusters: Clusters, s3: S3) -> None:
    history = History()
    history.session(1).run(COPIED)
    clusters["wh"].show(history)
    written(at(2, 9))
    (old,) = days(at(2) - timedelta(days=60), at(2) - timedelta(days=59))
    s3.put("logs", f"history/wh/{HISTORY}/{old.name}/0000_part_00.gz", b"not gzip")

    assert lineage().problems == set()
    assert lineage(ENTRY | {"lookback": "90d"}).problems != set()


def test_the_sql_has_quotes_and_the_role() -> None:
    sql = archive.unload(LOG, "sys_load_history", days(at(2), at(3))[0])

    assert sql == (
        "unload ('select query_id, loaded_rows from sys_load_history where "
        "((start_time >= ''2026-11-02 00:00:00'' and start_time < ''2026-11-03 00:00:00'')"
        " or (end_time >= ''2026-11-02 00:00:00'' and end_time < ''2026-11-03 00:00:00''))')\n"
        "to 's3://logs/history/wh/sys_load_history/20261102T000000Z_20261103T000000Z/'"
        " iam_role 'arn:aws:iam::111122223333:role/unload'\n"
        "format csv header gzip maxfilesize 64 mb allowoverwrite"
    )


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (
            {"archive": "/data/history"},
            r"query_log\[0\].archive: Redshift writes it: give s3://bucket/prefix",
        ),
        (
            {"archive": "s3a://logs/history"},
            r"query_log\[0\].archive: .* give s3://bucket/prefix, not s3a://logs/history",
        ),
        (
            {"archive": "S3://logs/history"},
            r"query_log\[0\].archive: .* give s3://bucket/prefix, not S3://logs/history",
        ),
        ({"format": "athena"}, r"query_log\[0\].archive: only for Redshift with cluster or workgroup"),
    ],
)
def test_an_archive_that_redshift_cannot_write_is_refused(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        QUERY_LOG.parse(
            [ENTRY | given | {"namespace": "awsathena://a"} if "format" in given else ENTRY | given]
        )


# ---- init and doctor


def test_init_finds_an_archive(clusters: Clusters) -> None:
    history = History()
    history.session(1).run(COPIED)
    clusters["wh"].show(history)
    written(at(2, 9))
    files = storage.list_files(ARCHIVE)

    discovery = QueryLogDiscovery()
    found = discovery.search(files, [])

    assert found.input is not None
    assert found.input.locations == (f"{ARCHIVE}/wh",)
    assert {*discovery.own_files(files)} == {file.location for file in files}


@pytest.fixture
def examined(clusters: Clusters, monkeypatch: pytest.MonkeyPatch) -> Callable[[datetime], dict[str, str]]:
    """What `doctor` says of the archive at a time: fixes by message."""

    def examine(now: datetime) -> dict[str, str]:
        class Clock(datetime):
            @classmethod
            def now(cls, tz: Any = None) -> Any:
                return now

        monkeypatch.setattr(doctor, "datetime", Clock)
        return {
            each.message: each.fix
            for each in doctor.CHECKS[0].examine((LOG,))
            if "archive" in each.message or "history from" in each.message or "visible" in each.message
        }

    return examine


@pytest.mark.usefixtures("retained_for_a_day")
def test_doctor_says_how_old_the_archive_is(examined: Callable[[datetime], dict[str, str]]) -> None:
    written(at(2, 9))
    users = "redshift wh: only statements of 0 user are visible"
    ends = "s3://logs/history/wh: the archive ends at 2026-11-02 09:00 UTC"
    every_day = "run lineage-merge archive-history, every day"

    assert examined(at(3, 9)) == {users: archive.GRANT, ends: ""}
    assert examined(at(4, 9))[ends] == every_day
    assert examined(at(10))[f"{ends}: history is lost, system views keep seven days"] == every_day

    written(at(9))
    gap = (
        "redshift wh: no history from 2026-11-02 09:00 to 2026-11-08 00:00 UTC: system views keep seven days"
    )
    assert examined(at(9, 1))[gap] == "run archive-history every day"

    by_path = QUERY_LOG.parse(
        [{name: ENTRY[name] for name in ("format", "namespace")} | {"path": f"{ARCHIVE}/wh"}]
    )
    gaps_of_path = [
        each.message for each in doctor.CHECKS[0].examine(by_path) if "history from" in each.message
    ]
    assert gaps_of_path == [gap.replace("redshift wh", f"{ARCHIVE}/wh")]


@pytest.mark.usefixtures("retained_for_a_day")
def test_archiving_after_a_gap_says_what_is_lost(clusters: Clusters) -> None:
    written(at(2, 9))

    assert any(
        "no history from 2026-11-02 09:00 to 2026-11-08 00:00" in each for each in written(at(9)).notices
    )
    assert not any("no history" in each for each in written(at(9, 9)).notices)


def test_doctor_without_access_to_the_cluster_says_that_a_run_needs_none(
    clusters: Clusters, examined: Callable[[datetime], dict[str, str]]
) -> None:
    written(at(2, 9))
    clusters["wh"].denied.add(HISTORY)

    (denied,) = [each for each in doctor.CHECKS[0].examine((LOG,)) if "denied" in each.message]
    assert denied.state == "warning"
    assert "a run does not" in denied.fix


# ---- the command


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "lineage_merge.yml"
    file.write_text(yaml.safe_dump({"query_log": [ENTRY]}))
    return file


@pytest.mark.usefixtures("retained_for_a_day")
def test_the_command_writes_the_archive(clusters: Clusters, config: Path) -> None:
    planned = in_process("archive-history", "-c", config, "--dry-run", "--json")
    done = in_process("archive-history", "-c", config, "--json")

    assert (planned.code, done.code) == (0, 0), done.err
    dry, real = json.loads(planned.out), json.loads(done.out)
    assert (dry["dry_run"], real["dry_run"]) == (True, False)
    assert len(dry["archived"][0]["intervals"]) == len(real["archived"][0]["intervals"]) == 2
    assert len(archive.list_complete_intervals(LOG)) == 2

    again = in_process("archive-history", "-c", config)
    assert again.out.startswith("redshift wh: wrote 10 views, ")
    assert again.out.endswith(f" to {ARCHIVE}/wh\n")
    assert "only statements of 0 user are visible" in again.err


@pytest.mark.usefixtures("retained_for_a_day")
def test_the_command_prints_the_sql(clusters: Clusters, config: Path) -> None:
    done = in_process(
        "archive-history", "-c", config, "--print", "--archive", "s3://logs/other/", "--iam-role", "default"
    )

    assert (done.code, clusters["wh"].statements) == (0, [])
    assert done.out.count("unload (") == done.out.count("to 's3://logs/other/wh/sys_") == 2 * 7
    assert done.out.count(" iam_role default\n") == 2 * 7


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--cluster", "who"], 2, "--cluster: no query_log has this cluster or workgroup"),
        (["--archive", "/data"], 2, "--archive: Redshift writes it: give s3://bucket/prefix, not /data"),
        (["--iam-role", "x'"], 2, "iam_role: expected default, or the ARN of a role"),
        ([], 3, f"error: redshift wh: ERROR: permission denied for relation {HISTORY}"),
    ],
)
def test_the_command_fails_with_a_clear_line(
    clusters: Clusters, config: Path, arguments: list[str], code: int, message: str
) -> None:
    clusters["wh"].denied.add(HISTORY)

    done = in_process("archive-history", "-c", config, *arguments)

    assert done.code == code
    assert message in done.err


def test_a_configuration_without_archive_says_which_key(clusters: Clusters, tmp_path: Path) -> None:
    file = tmp_path / "lineage_merge.yml"
    file.write_text(yaml.safe_dump({"query_log": [{k: v for k, v in ENTRY.items() if k != "archive"}]}))

    done = in_process("archive-history", "-c", file)

    assert (done.code, "query_log: no Redshift cluster or workgroup has an archive" in done.err) == (2, True)


def test_a_statement_in_two_exports_counts_as_it_ended_whichever_is_read_last(tmp_path: Path) -> None:
    history = History()
    history.session(1).run(COPIED)
    history.rows.pop(TRANSACTIONS)
    history.write(tmp_path / "a")
    history.rows[HISTORY][0] |= {"status": "running", "end_time": ""}
    history.write(tmp_path / "b")

    assert read_log(LocalEngine(), tmp_path).feeds == {"mart.t #: raw.s > mart.t"}
