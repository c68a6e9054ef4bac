"""Statements without literals, and what they do to names."""

import pytest

from lineage_merge.sources.query_log.statements.facts import facts_of
from lineage_merge.sources.query_log.statements.owners import Owner, owner_of
from lineage_merge.sources.query_log.statements.statement import Template
from lineage_merge.sources.query_log.statements.templates import Templates, template_of


def fingerprints(*texts: str) -> set[str]:
    return {template_of(text).fingerprint for text in texts}


def test_statements_that_differ_in_literals_layout_case_and_comments_are_one() -> None:
    assert (
        len(
            fingerprints(
                "insert into t select a from s where b = 'x''y' and c in (1, 2)",
                "INSERT INTO t\n  SELECT a -- mail: a@b.c\n FROM s WHERE b='z' AND c IN (3,4,5) ;",
                "/* run 7 */ insert into t select a from s where b = E'q\\'r' and c in (2.5)",
            )
        )
        == 1
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("insert into t select a from s", 'insert into t select "A b" from s'),
        ("insert into t select a from s group by 1", "insert into t select a from s group by 2"),
        ("create table t (a varchar(10))", "create table t (a varchar(20))"),
        ("insert into t1 select 1", "insert into t2 select 1"),
    ],
)
def test_other_statements_are_not_one(one: str, other: str) -> None:
    assert len(fingerprints(one, other)) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("insert into t values (1, 'a'), (2, 'b'), (3, null)", "insert into t values (?, '?')"),
        ("select a from s where b = 'order by 7' order by 2", "select a from s where b = '?' order by 2"),
        ("select a into t from s order by 2, b limit 10", "select a into t from s order by 2, b limit ?"),
        ("create table t (a decimal(10,2))", "create table t (a decimal(10,2))"),
        ("insert into t select 'it''s', 1e5, .5, a1 from s_2", "insert into t select '?', ?, ?, a1 from s_2"),
        ("insert into t select $$secret$$, $x$ it's $x$ from s", "insert into t select '?', '?' from s"),
        ("set search_path to 'a', \"$user\"", "set search_path to 'a', \"$user\""),
        (
            "copy t from 's3://b/p' credentials 'aws_access_key_id=AKIA;x' json 'auto' delimiter '|'",
            "copy t from 's3://b/p' credentials '?' json 'auto' delimiter '?'",
        ),
        (
            "unload ('select a from t where b = ''secret''') to 's3://b/p/' iam_role 'arn:1'",
            "unload ('select a from t where b = ''?''') to 's3://b/p/' iam_role '?'",
        ),
        ("insert into t select 'unterminated", "insert into t select '?'"),
    ],
)
def test_literals_are_replaced_where_they_are_data(text: str, expected: str) -> None:
    assert template_of(text).text == expected
    assert Templates().find_template(text).text == expected


def test_the_short_path_gives_the_same_templates() -> None:
    texts = [
        f"insert into t select a, '{word}' from s where b = {number} and c in ({number}, 2) group by 1, b"
        for word in ("x", "it''s", "(", "--", "a\\'b", "order by", "group by 1, 'x")
        for number in (1, 22, 3.5)
    ]
    texts += [
        f'select /* {number} */ cast(a as decimal({number}, 2)), "b {number}", c{number}::varchar(256) '
        f"from s where d = 'x{number}' -- note {number}\n order by {number}, c limit {number}"
        for number in (1, 22, 123456)
    ]
    texts += [f"create table t as select a from s where b = 'auto' or b = 'x{number}'" for number in (1, 2)]
    texts += [
        f'/* {{"dag_id": "d{number}", "task_id": "t", "run": {number * 7}}} */ insert into t select {number}'
        for number in (1, 1, 2)
    ]
    templates = Templates()
    assert [templates.find_template(text) for text in texts] == [template_of(text) for text in texts]


def test_statements_that_show_something_have_no_template() -> None:
    assert Templates().find_template("/* dashboard */ explain select 1") == Template("", "")
    assert Templates().find_template("select a from s").text == "select a from s"


def test_a_string_in_double_quotes_is_a_literal_where_the_dialect_says_so() -> None:
    assert (
        Templates(quotes=True).find_template('insert into t select "secret" from s').text
        == "insert into t select '?' from s"
    )
    assert (
        Templates().find_template('insert into t select "a" from s').text == 'insert into t select "a" from s'
    )


@pytest.mark.parametrize(
    ("comment", "owner"),
    [
        ('{"app": "dbt", "node_id": "model.shop.orders"}', Owner("dbt", "model.shop.orders")),
        ('{"app": "dbt", "node_id": "test.shop.unique"}', Owner("dbt", "")),
        ('{"dag_id": "shop", "task_id": "load"}', Owner("", "shop.load")),
        ("dag_id='shop',task_id='load%20it'", Owner("", "shop.load it")),
        ("{broken", None),
        ("a comment", None),
    ],
)
def test_comments_name_the_job(comment: str, owner: Owner | None) -> None:
    assert owner_of(("first", comment)) == owner


@pytest.mark.parametrize(
    ("text", "creates", "temporary", "changes"),
    [
        ("create temp table a.t as select ?", "t", True, ""),
        ('create local temporary table if not exists "T" (a int)', "t", True, ""),
        ("create table #t (a int)", "#t", True, ""),
        ("create table a.t (like b)", "t", False, ""),
        ("select a into temp t from s", "t", True, ""),
        ("with x as (select ?) select a into b.t from x", "t", False, ""),
        ("insert into a.t (b) values (?)", "", False, "t"),
        ("delete from t where a = ?", "", False, "t"),
        ("merge into t using s on ? = ?", "", False, "t"),
        ("alter table t append from s", "", False, "t"),
        ("copy t from '?'", "", False, "t"),
    ],
)
def test_facts_of_statements(text: str, creates: str, temporary: bool, changes: str) -> None:
    facts = facts_of(text)
    assert (facts.creates, facts.is_temporary, facts.changes) == (creates, temporary, changes)
    assert facts.moves
