"""The last step: report of the merge in the log, its counts as an XCom, and its links (see `provider.py`)."""

from collections.abc import Mapping
from io import StringIO
from typing import Any
from urllib.parse import quote

from lineage_merge.airflow.compat import AirflowFailException, Asset, BaseOperatorLink, xcom
from lineage_merge.airflow.connections import aws, environment
from lineage_merge.airflow.local import MergeOperator
from lineage_merge.airflow.openlineage_datasets import folder_dataset
from lineage_merge.airflow.report_check import judge
from lineage_merge.airflow.settings import build_folder, fail_if_permanent, sibling

REPORT_URL = "lineage_report_url"
PAGE_URL = "lineage_page_url"


class _PushedLink(BaseOperatorLink):  # type: ignore[misc] # mypy runs without Airflow
    """A link with an address that the task pushed as an XCom."""

    key = ""

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """Return the address, or ""."""
        try:
            link = xcom().get_value(key=self.key, ti_key=ti_key)
        except Exception:  # noqa: BLE001 (a link must not break the page, nor the end of a task)
            link = None
        return link if isinstance(link, str) else ""


class ReportLink(_PushedLink):
    """Link to the report of the merge."""

    name = "Merge report"
    key = REPORT_URL


class PageLink(_PushedLink):
    """Link to the page of the graph, if the task group sets one."""

    name = "Lineage page"
    key = PAGE_URL


def report_url(file: str, region: str = "") -> str:
    """Return the address of a file: in the S3 console, or of the file itself."""
    scheme, _, rest = file.partition("://")
    if scheme not in ("s3", "s3a", "s3n"):
        return file if "://" in file else f"file://{file}"
    bucket, _, key = rest.partition("/")
    where = f"region={region}&" if region else ""
    return f"https://console.aws.amazon.com/s3/object/{bucket}?{where}prefix={quote(key)}"


# XComs are stored in Airflow's database; the folder has the complete report.
MAX_EXAMPLES = 20
MAX_NEAR_MISSES = 5


class MergeFailed(AirflowFailException):  # type: ignore[misc] # mypy runs without Airflow
    """A merge was loaded, but violates a policy. `counts`: the XCom of the report."""

    def __init__(self, message: str, counts: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.counts = dict(counts or {})


class ReportMerge(MergeOperator):
    """Reports the outcomes of build and load, and updates the asset of the merge.

    Fails after the graph was loaded if a finding has the policy "fail" in `merge`.
    """

    operator_extra_links = (ReportLink(), PageLink())

    def execute(self, context: Mapping[str, Any]) -> dict[str, Any]:
        """Log the report; return counts and the first problems. Raises `MergeFailed`."""
        from lineage_merge.merge.report import REPORT
        from lineage_merge.orchestration import stages

        folder = build_folder(context)
        with fail_if_permanent(), environment(aws(self.merge.get("aws"))):
            report, written = stages.outcomes(folder)
        self._datasets = folder_dataset(folder)
        self.log.info("\n%s", as_text(report, written))
        counts = short(report, written)
        instance = context["ti"]
        # Before the verdict: callbacks and links are also needed after a failure.
        instance.xcom_push(key="return_value", value=counts)
        instance.xcom_push(key=REPORT_URL, value=report_url(f"{folder}/{REPORT}"))
        if self.merge.get("page"):
            instance.xcom_push(key=PAGE_URL, value=self.merge["page"])
        try:
            verdict = judge(report, written, self.merge.get("policies") or {})
        except ValueError as error:
            raise AirflowFailException(f"policies: {error}") from None
        for line in verdict.warnings:
            self.log.warning("%s", line)
        if verdict.failures:
            raise MergeFailed("; ".join(verdict.failures), counts)
        for outlet in self.outlets or ():
            if isinstance(outlet, Asset):
                context["outlet_events"][outlet].extra = asset_extra(counts)
        return counts


def as_text(report: Mapping[str, Any], written: Mapping[str, Any]) -> str:
    """Return the report as the command line prints it."""
    from rich.console import Console

    from lineage_merge.load.result import LoadResult
    from lineage_merge.merge.report import Report
    from lineage_merge.orchestration.report_text import describe_load, print_report

    out = StringIO()
    console = Console(file=out, width=120, highlight=False)
    print_report(console, Report.from_json(report), describe_load(LoadResult(**written)))
    return out.getvalue()


def short(report: Mapping[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
    """Return the counts and examples for the XCom."""
    numbers = ("nodes", "edges", "unchanged", "retired_nodes", "retired_edges", "moved", "seconds")
    return {
        **{name: report.get(name, {}) for name in ("read", "nodes", "edges", "joined", "totals")},
        "problems": report.get("problems", [])[:MAX_EXAMPLES],
        "near_misses": report.get("near_misses", [])[:MAX_NEAR_MISSES],
        "written": {name: written.get(name, 0) for name in numbers},
        "refusal": written.get("refusal", ""),
    }


def asset_extra(counts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the counts for the asset event."""
    return {name: counts[name] for name in ("read", "nodes", "edges", "totals", "written")}


def merge_counts(context: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the counts of the group's report in a callback of any of its tasks; None if not available yet.

    `read`, `nodes`, `edges`, `joined`, `totals` (problems by kind), `problems`, `written`, `refusal`.
    """
    raised = getattr(context.get("exception"), "counts", None)
    if isinstance(raised, dict):
        return raised
    instance = context["ti"]
    report = instance.xcom_pull(task_ids=sibling(instance.task_id, "report"), map_indexes=instance.map_index)
    return report if isinstance(report, dict) else None
