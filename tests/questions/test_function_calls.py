"""Whether a column is used only inside calls of functions that hide its value. A doubt is a no."""

import sys

import pytest

from lineage_merge.model.errors import ConfigError
from lineage_merge.questions.traversal.tag_stops import enclosing_function, may_call

FUNCTIONS = ("sha2", "MD5", "mask*")


@pytest.mark.parametrize(
    ("expression", "column", "columns", "function"),
    [
        ("md5(email)", "email", ["email"], "md5"),
        ("MD5(EMAIL)", "email", ["email"], "md5"),
        ("sha2(cast(lower(email) as binary), 256)", "email", ["email"], "sha2"),
        ("mask_address(c.email)", "email", ["email"], "mask_address"),
        ("md5(`email`)", "email", ["email"], "md5"),
        ('md5("Email")', "email", ["email"], "md5"),
        ("concat(md5(email), name)", "email", ["email", "name"], "md5"),
        ("substring(md5(email), 1, 8)", "email", ["email"], "md5"),
        ("md5(contact.email)", "contact", ["contact"], "md5"),
        ("md5(email) | sha2(email, 256)", "email", ["email"], "md5"),
        ("md5(concat(email, salt))", "email", ["email"], "md5"),
        # A function of a schema, quoted or not.
        ("gov.mask_email(email)", "email", ["email"], "mask_email"),
        ("dwh.gov.mask_email(lower(c.email))", "email", ["email"], "mask_email"),
        ('"gov"."mask_email"(email)', "email", ["email"], "mask_email"),
        ("`dwh.gov.mask_email`(email)", "email", ["email"], "mask_email"),
        ("concat(gov.mask_email(email), name)", "email", ["email", "name"], "mask_email"),
        # The result has a name.
        ("md5(email) AS email", "email", ["email"], "md5"),
        # WITH renamed AS (SELECT email AS raw): all names are inside.
        ("md5(raw)", "email", ["email"], "md5"),
        ("coalesce(md5(raw), '')", "email", ["email"], "md5"),
    ],
)
def test_all_occurrences_are_inside(expression: str, column: str, columns: list[str], function: str) -> None:
    assert may_call(expression, FUNCTIONS)
    assert enclosing_function(expression, column, FUNCTIONS, columns) == function


@pytest.mark.parametrize(
    ("expression", "column", "columns"),
    [
        ("concat(md5(email), name)", "name", ["email", "name"]),
        ("coalesce(md5(email), email)", "email", ["email"]),
        ("md5(email) | email", "email", ["email"]),
        ("CASE WHEN email LIKE '%@x' THEN md5(email) END", "email", ["email"]),
        ("md5(a.email) || b.email", "email", ["email"]),
        # The same column under another name.
        ("coalesce(md5(email), raw)", "email", ["email"]),
        ("concat(md5(raw), name)", "email", ["email", "name"]),
        ("gov.upper(email) || gov.mask_email(name)", "email", ["email", "name"]),
        ("raw.lower() || md5(email)", "email", ["email"]),
        ("struct(email AS e, md5(email) AS h)", "email", ["email"]),
        # No column, but text.
        ("md5('email')", "email", ["email"]),
        ("'md5(email)'", "email", ["email"]),
        ("transform(emails, e -> md5(e))", "emails", ["emails"]),
        # Cut, or not SQL.
        ("md5(email", "email", ["email"]),
        (f"md5(email) || '{'x' * 1_000}'", "email", ["email"]),
        ("md5(email)…", "email", ["email"]),
        ("md5 email", "email", ["email"]),
        ("unmask(email)", "email", ["email"]),
        # CASE is no function, though sqlglot has it as one.
        ("CASE (email) WHEN 'a' THEN 1 END", "email", ["email"]),
        ("", "email", ["email"]),
    ],
)
def test_a_doubt_is_a_no(expression: str, column: str, columns: list[str]) -> None:
    assert enclosing_function(expression, column, (*FUNCTIONS, "case"), columns) == ""


def test_only_texts_with_a_call_are_parsed() -> None:
    assert not may_call("lower(email)", FUNCTIONS)
    assert not may_call("md5", FUNCTIONS)


def test_without_sqlglot_the_error_has_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(ConfigError, match=r"needs sqlglot\. Fix: install lineage-merge\[columns\]"):
        enclosing_function("md5(never_parsed_before)", "never_parsed_before", FUNCTIONS, ["x"])
