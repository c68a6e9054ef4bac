"""Patterns of `merge.rules` that may take very long are refused, and usual ones are not."""

import re

import pytest

from lineage_merge.config.pattern_cost import problem_of
from lineage_merge.model.errors import ConfigError
from lineage_merge.orchestration.configuration import CONFIGURATION


@pytest.mark.parametrize(
    "pattern",
    [
        r"^s3://[^/]+/[^/]+/(?P<table>[^/]+)/.*$",
        r"^s3://b/tmp/(?P<table>\w+)/[0-9a-f-]{36}",
        r"/stage/(?P<schema>[a-z]+)_(?P<table>\w+)/",
        r"^s3://.*/tmp/(?P<table>.+)/.*$",
        r"^s3://b(?:/[^/]+)+/data$",
        r"(?i)^S3A?://bucket/(?:raw|staging)/(?P<t>[^/?]+)(?:/part-\d+)?$",
        r"^(?:ab){2,}$",
        r"^s3://b(?:/[^/]*)+$",
    ],
)
def test_usual_patterns_are_accepted(pattern: str) -> None:
    re.compile(pattern)
    assert problem_of(pattern) == ""


@pytest.mark.parametrize(
    "pattern",
    [
        r"^s3://b/(a+)+$",
        r"^s3://b/(a|a)*$",
        r"^(?:[^/]*/?)*x$",
        r"^(?:(?:a)+b?)+$",
        r"^(a?){40}a{40}$",
        r"^(?:\w\w*)+/$",
        r"^(?i:(?:kK*)+)$",
        r"^(?:/a*a*)+$",
        r"^(?=(x+x+)+y)",
        r"^(?:(?:/.+)+)?y",
    ],
)
def test_a_repeated_group_that_is_ambiguous_is_refused(pattern: str) -> None:
    assert "a repeated group" in problem_of(pattern)


def test_many_repetitions_of_the_same_characters_are_refused() -> None:
    assert "more than 3 repetitions" in problem_of(r"^.*a.*b.*c.*d$")
    assert "more than 2 repetitions" in problem_of(r".*a.*b.*c")


def test_the_error_names_the_rule() -> None:
    rule = {"name": "stage", "match": "^s3://b/(a+)+$", "dataset": "s3://b|x"}
    settings = {"dag_name": "d", "environment": "dev", "merge": {"rules": [rule]}}

    with pytest.raises(ConfigError, match=r"merge.rules\[0\].match.* stage: a repeated group"):
        CONFIGURATION.parse(settings, needs_source=False)
