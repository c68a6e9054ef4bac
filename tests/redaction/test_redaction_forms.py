"""Every form of a secret is masked, and masking again changes nothing."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage_merge.infra.redaction import redact, redact_sql
from lineage_merge.model.errors import LineageMergeError, NamingError
from lineage_merge.naming import Named, name_dataset, name_uri
from tests.redaction.secret_forms import SECRET, forms, leaks

# A secret in two parts, with what a password may have between them.
_PARTS = ("Hunter2Zq9", "Kw7Otter")
_PIECES = [*forms(), "a", ":", "/", "@", "=", "'", '"', "%3D", "%", " ", ";", "//"]


def test_there_are_enough_forms() -> None:
    assert len(forms()) >= 200


def test_no_form_is_left_by_redaction() -> None:
    assert [form for form in forms() if leaks(redact(form))] == []


def test_no_form_is_left_in_an_expression() -> None:
    assert [form for form in forms() if leaks(redact_sql(form))] == []
    literals = [form.replace("'", "''") for form in forms()]
    escaped = [form.replace("\\", "\\\\").replace("'", "\\'") for form in forms()]
    for written in (literals, escaped):
        assert [each for each in written if leaks(redact_sql(f"concat(a, '{each}')"))] == []
        assert [each for each in written if leaks(redact_sql(f"'{each}' || a"))] == []


def test_an_equals_sign_with_spaces_compares_in_sql_alone() -> None:
    assert redact(f"password = {SECRET}") == "password = *****"
    assert redact_sql(f"password = {SECRET}") == f"password = {SECRET}"
    assert redact_sql(f"password={SECRET}") == "password=*****"


def test_no_form_is_left_inside_of_a_sentence() -> None:
    assert [form for form in forms() if leaks(redact(f"written by the old job to {form} each night"))] == []


def test_redacting_again_changes_nothing() -> None:
    assert [form for form in forms() if redact(redact(form)) != redact(form)] == []
    assert [form for form in forms() if redact_sql(redact_sql(form)) != redact_sql(form)] == []


@settings(deadline=None)
@given(st.lists(st.sampled_from(_PIECES), max_size=6))
def test_redacting_any_mixture_of_forms_again_changes_nothing(parts: list[str]) -> None:
    text = "".join(parts)

    assert redact(redact(text)) == redact(text)
    assert redact_sql(redact_sql(text)) == redact_sql(text)


@pytest.mark.parametrize("between", ["%40", "%2F", *"/@:+=!$*,~^-."])
@pytest.mark.parametrize(
    "form",
    [
        "jdbc:redshift://u:{}@h:5439/d:public.t",
        "jdbc:oracle:thin:u/{}@h:1521:X:T",
        "https://u:{}@h/x",
        "mongodb://u:{}@h1:1,h2:2/d.c",
        "s3a://k:{}@b/x",
        "jdbc:sqlserver://h;password={};databaseName=d:dbo.t",
        "jdbc:postgresql://h/d?password={}&ssl=true:t",
        "Server=h;Password={};Database=d",
        "https://h/x?token={}&a=b",
        '"password": "{}"',
    ],
)
def test_a_password_with_special_characters_is_masked_whole(form: str, between: str) -> None:
    redacted = redact(form.format(between.join(_PARTS)))

    assert not any(leaks(redacted, part) for part in _PARTS), redacted


@pytest.mark.parametrize("suffix", ["", ":public.t"])
def test_no_form_reaches_a_name(suffix: str) -> None:
    named = [_named(name_uri, form + suffix) for form in forms()]
    named += [_named(name_dataset, form, "t") for form in forms()]
    named += [_named(name_dataset, "x", form) for form in forms()]

    assert [each for each in named if leaks(each)] == []


def _named(name: Callable[..., Named], *parts: str) -> str:
    try:
        return repr(name(*parts))
    except NamingError as error:
        return error.message


def test_no_form_reaches_the_message_of_an_error() -> None:
    assert [form for form in forms() if leaks(str(LineageMergeError(f"{form}: not found")))] == []
