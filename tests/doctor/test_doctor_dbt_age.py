"""Manifests of dbt that no task seems to upload."""

from collections.abc import Sequence

import pytest

from lineage_merge.sources.dbt.doctor import explain_outdated
from lineage_merge.sources.dbt.nodes import Manifest
from lineage_merge.sources.dbt.run_results import NodeRun, RunResults

DAY = 24 * 3_600_000
MADE = 1_700_000_000_000
S3 = "s3://artifacts/shop/manifest.json"


def reason(*runs: RunResults, location: str = S3, age: int = DAY, left_out: Sequence[str] = ()) -> str:
    manifest = Manifest(
        "shop", "1.10", MADE, "redshift", {}, dict.fromkeys(left_out, "is disabled"), invocation_id="own"
    )
    return explain_outdated(location, manifest, runs, MADE + age)


def results(hours: int, invocation: str = "other", *models: str) -> RunResults:
    runs = {unique_id: NodeRun("succeeded", MADE, None) for unique_id in models}
    return RunResults(invocation, "build", runs, generated_at=MADE + hours * 3_600_000)


def test_a_manifest_that_is_uploaded_after_each_run_is_not_outdated() -> None:
    assert reason(results(2), results(30, "own", "model.shop.new"), results(-200)) == ""


def test_a_manifest_that_is_older_than_the_results_of_a_run_is_outdated() -> None:
    assert reason(results(2), results(75)) == "is 3 d 3 h older than the run results"


@pytest.mark.parametrize(("ran", "is_outdated"), [("model.shop.new", True), ("operation.shop.hook", False)])
def test_a_manifest_without_a_model_that_ran_is_outdated(ran: str, is_outdated: bool) -> None:
    assert (f"does not have {ran}, which ran" in reason(results(1, "other", ran))) is is_outdated
    assert reason(results(1, "other", ran), left_out=[ran]) == ""


@pytest.mark.parametrize(("location", "is_outdated"), [(S3, True), ("target/manifest.json", False)])
def test_an_old_manifest_in_s3_may_not_be_uploaded_by_any_task(location: str, is_outdated: bool) -> None:
    found = reason(location=location, age=12 * DAY)
    assert found == ("was generated 12 d ago: a task may not upload it" if is_outdated else "")
    assert reason(location=location, age=6 * DAY) == ""
