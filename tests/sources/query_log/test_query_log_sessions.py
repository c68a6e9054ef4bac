"""Sessions as units: what belongs together, what is one unit in all sessions, and runs."""

from itertools import count

from lineage_merge.sources.query_log.statements.session_steps import SessionSettings
from lineage_merge.sources.query_log.statements.sessions import SessionResult, read_session
from lineage_merge.sources.query_log.statements.statement import LoggedStatement, Outcome, Prepared
from lineage_merge.sources.query_log.statements.templates import template_of

_IDS = count()
SETTINGS = SessionSettings(("$user", "public"), {"ana": "ana"})


def session(*texts: str | tuple[str, Outcome], label: str = "", transaction: str = "") -> SessionResult:
    statements = []
    for at, each in enumerate(texts):
        text, outcome = each if isinstance(each, tuple) else (each, "open")
        statement = LoggedStatement(
            f"{next(_IDS):09}",
            "1",
            "",
            transaction or str(at),
            "dw",
            (),
            "ana",
            at * 10,
            at * 10 + 5,
            1,
            outcome,
            label,
        )
        statements.append(Prepared(statement, template_of(text)))
    return read_session(statements, SETTINGS)


def units(*texts: str | tuple[str, Outcome]) -> set[tuple[str, ...]]:
    return {unit.statements for unit in session(*texts).units}


def test_a_statement_has_the_statements_of_the_temporary_tables_that_it_reads() -> None:
    temporary = "create temp table t as select a from s"
    filled = "insert into t select a from s2"
    assert units(temporary, filled, "insert into x select a from t", "insert into y select a from z") == {
        (temporary, filled, "insert into x select a from t"),
        ("insert into y select a from z",),
    }


def test_a_temporary_table_that_is_made_again_forgets_what_it_was() -> None:
    first, second = "create temp table t as select a from s1", "create temp table t as select a from s2"
    use = "insert into x select a from t"
    assert units(first, use, "drop table t", second, use) == {(first, use), (second, use)}


def test_a_loop_is_a_few_units_however_often_it_runs() -> None:
    loop = (
        "create temp table t as select a from s",
        "insert into t values (1)",
        "insert into x select * from t",
        "drop table t",
    )
    found = session(*(loop * 50))
    assert [number for number, _ in found.units.values()] == [50]
    assert units(
        "create temp table t (a int)", *["insert into t values (1)"] * 50, "insert into x select a from t"
    ) == {("create temp table t (a int)", "insert into t values (?)", "insert into x select a from t")}


def test_temporary_tables_of_temporary_tables() -> None:
    one, two = "create temp table one as select a from s", "create temp table two as select a from one"
    use = "insert into x select a from two"
    assert units(one, two, "drop table one", use) == {(one, two, use)}


def test_a_table_that_is_renamed_later_is_read_with_its_renaming() -> None:
    made, fill, rename = (
        "create table new (a int)",
        "insert into new select a from s",
        "alter table new rename to t",
    )
    found = session(made, fill, "alter table t rename to old", rename, "drop table old")
    assert {unit.statements[unit.target]: unit.statements for unit in found.units} == {
        made: (made, rename),
        fill: (made, fill, rename),
    }


def test_a_table_that_is_dropped_again_is_temporary_unless_it_exists_in_the_end() -> None:
    made, use, drop = "create table t as select a from s", "insert into x select a from t", "drop table t"
    assert units(made, use, drop, made, use, drop) == {(made, use, drop)}
    assert units(drop, made, use, drop, made, use) == {(made,), (use,)}


def test_failed_and_rolled_back_statements_are_no_units() -> None:
    assert (
        units(("insert into x select a from s", "failed"), ("insert into y select a from s", "rolled_back"))
        == set()
    )
    assert session("begin", "insert into x select a from s", "rollback", transaction="7").units == {}
    assert (
        session("begin", "insert into x select a from s", ("select 1/0", "failed"), transaction="7").units
        == {}
    )
    assert len(session("begin", "insert into x select a from s", "commit", transaction="7").units) == 1


def test_the_search_path_is_that_of_the_session_at_the_time() -> None:
    insert = "insert into x select a from s"
    found = session(
        insert, 'set search_path to b, "$user"', insert, ("set search_path to c", "failed"), insert
    )
    assert [(unit.search_path, number) for unit, (number, _) in found.units.items()] == [
        (("ana", "public"), 1),
        (("b", "ana"), 2),
    ]


def test_a_database_that_is_used_is_that_of_later_statements() -> None:
    insert = "insert into x select a from s"
    assert {unit.database for unit in session(insert, "use other", insert).units} == {"dw", "other"}


def test_a_statement_that_is_in_the_log_twice_counts_once() -> None:
    statement = LoggedStatement("1", "1", "", started=1, ended=2)
    twice = [Prepared(statement, template_of("insert into x select a from s"))] * 2
    assert list(read_session(twice, SETTINGS).units.values()) == [(1, 1)]


def test_statements_of_a_label_are_one_run_per_session() -> None:
    found = session("insert into x select a from s", "insert into y select a from s", label="report")
    ((job, runs),) = found.runs.items()
    assert job == ("", "report")
    assert (runs.number, runs.successful, runs.newest.rows) == (1, 1, 2)


def test_the_newest_run_may_have_failed() -> None:
    insert = "insert into x select a from s"
    ((_, runs),) = session(insert, (insert, "failed")).runs.items()
    assert (runs.number, runs.successful, runs.newest.failed) == (2, 1, True)
