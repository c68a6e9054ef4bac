"""Facts beside a plan, from arguments and Spark's texts."""

import pytest

from lineage_merge.spark_capture.listener.facts import counts, first_phase, glue_job


@pytest.mark.parametrize(
    ("arguments", "configured", "expected"),
    [
        (["job.py"], {}, {}),
        (
            ["job.py", "--JOB_ID", "j_1", "--JOB_RUN_ID", "jr_0a", "--JOB_NAME", "sales"],
            {"JOB_NAME": "other"},
            {"glueJobName": "sales", "glueJobRunId": "jr_0a"},
        ),
        (["job.py", "--JOB_NAME=sales"], {}, {"glueJobName": "sales"}),
        (["job.py", "--JOB_NAME"], {"JOB_RUN_ID": "jr_0a"}, {"glueJobRunId": "jr_0a"}),
    ],
)
def test_the_glue_job(
    arguments: list[str], configured: dict[str, str | None], expected: dict[str, str]
) -> None:
    assert glue_job(arguments, configured) == expected


def test_counts_of_a_write() -> None:
    text = (
        "Map(numOutputRows -> SQLMetric(id: 4, name: Some(number of output rows), value: 12),"
        " jobCommitTime -> SQLMetric(id: 2, name: Some(job commit time), value: 31),"
        " numFiles -> SQLMetric(id: 1, name: Some(number of files (new)), value: -1),"
        " numOutputBytes -> SQLMetric(id: 3, name: None, value: 4000000000))"
    )

    assert counts(text) == {"numOutputRows": 12, "numOutputBytes": 4000000000}
    assert counts("Map()") == {}


def test_the_first_phase_is_when_an_execution_began() -> None:
    text = "Map(planning -> PhaseSummary(1795705466000, 2), analysis -> PhaseSummary(1795705465000, 2))"

    assert first_phase(text) == 1795705465000
    assert first_phase("Map()") is None
