"""The signature verifier of the IAM tests, against the signatures of AWS's test suite."""

from collections.abc import Mapping

import pytest

from tests.load.sigv4 import Request, signature

SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
TOKEN = (
    "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8"
    "YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6"
    "fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQ"
    "wj2ICCR/oLxBA=="
)


@pytest.mark.parametrize(
    ("method", "query", "headers", "expected"),
    [
        pytest.param(
            "GET",
            "",
            {},
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
            id="get-vanilla",
        ),
        pytest.param(
            "POST",
            "",
            {},
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
            id="post-vanilla",
        ),
        pytest.param(
            "GET",
            "Param2=value2&Param1=value1",
            {},
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
            id="get-vanilla-query-order-key-case",
        ),
        pytest.param(
            "GET",
            "",
            {"My-Header1": " value1", "My-Header2": ' "a   b   c"'},
            "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
            id="get-header-value-trim",
        ),
        pytest.param(
            "POST",
            "",
            {"X-Amz-Security-Token": TOKEN},
            "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead",
            id="post-sts-header-before",
        ),
    ],
)
def test_the_verifier_agrees_with_the_suite(
    method: str, query: str, headers: Mapping[str, str], expected: str
) -> None:
    all_headers = {"Host": "example.amazonaws.com", "X-Amz-Date": "20150830T123600Z", **headers}
    request = Request(method, "/", query, all_headers)
    signed = sorted(name.lower() for name in all_headers)
    assert signature(request, signed, ("20150830", "us-east-1", "service"), SECRET) == expected
