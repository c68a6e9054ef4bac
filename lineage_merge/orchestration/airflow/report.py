"""The last step: what the merge did, readable in the log and short as an XCom."""

from collections.abc import Mapping
from io import StringIO
from typing import Any

from lineage_merge.orchestration.airflow.compat import AirflowFailException, Asset, BaseOperator
from lineage_merge.orchestration.airflow.connections import aws, environment
from lineage_merge.orchestration.airflow.links import (
    PAGE_URL,
    REPORT_URL,
    PageLink,
    ReportLink,
    report_url,
)
from lineage_merge.orchestration.airflow.openlineage_datasets import (
    Datasets,
    facets,
    folder_dataset,
)
from lineage_merge.orchestration.airflow.report_check import judge
from lineage_merge.orchestration.airflow.settings import Merge, build_folder, fail_if_permanent

# XCom lies in Airflow's database; the log, the folder and the graph have the rest.
MAX_EXAMPLES = 20


class MergeFailed(AirflowFailException):  # type: ignore[misc] # Airflow is not there when this is checked
    """A merge was loaded, but a policy says that it is not good enough. `counts`: the report's XCom."""

    def __init__(self, message: str, counts: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.counts = dict(counts or {})


class ReportMerge(BaseOperator):  # type: ignore[misc] # Airflow is not there when this is checked
    """Reads what build and load left in the folder. The merge is an asset, which this task updates.

    Fails, after the graph was loaded, for findings whose policy in `merge` says so.
    """

    template_fields = ("merge",)
    template_fields_renderers = {"merge": "json"}  # noqa: RUF012 (as Airflow declares it)
    ui_color = "#e8f4db"
    operator_extra_links = (ReportLink(), PageLink())

    def __init__(self, *, merge: Merge, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.merge = merge
        self._datasets = Datasets((), ())

    def execute(self, context: Mapping[str, Any]) -> dict[str, Any]:
        """Log the report; returns counts, and the first of the problems. Raises `MergeFailed`."""
        from lineage_merge.merge.report import REPORT
        from lineage_merge.orchestration import stages

        folder = build_folder(context)
        with fail_if_permanent(), environment(aws(self.merge.get("aws"))):
            report, written = stages.outcomes(folder)
        self._datasets = folder_dataset(folder)
        self.log.info("\n%s", as_text(report, written))
        counts = short(report, written)
        instance = context["ti"]
        # Before the verdict: callbacks and links are wanted above all where it fails.
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

    def get_openlineage_facets_on_complete(self, _task_instance: Any) -> Any:
        """What the task read, for the provider of OpenLineage."""
        return facets(self._datasets)


def as_text(report: Mapping[str, Any], written: Mapping[str, Any]) -> str:
    """The table that the command line prints."""
    from rich.console import Console

    from lineage_merge.cli.printing import loaded_text, print_report
    from lineage_merge.load.result import LoadResult
    from lineage_merge.merge.report import Report

    out = StringIO()
    console = Console(file=out, width=120, highlight=False)
    print_report(console, Report.from_json(report), loaded_text(LoadResult(**written)))
    return out.getvalue()


def short(report: Mapping[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
    """What an XCom may hold."""
    numbers = ("nodes", "edges", "unchanged", "retired_nodes", "retired_edges", "moved", "seconds")
    return {
        **{name: report.get(name, {}) for name in ("read", "nodes", "edges", "joined", "totals")},
        "problems": report.get("problems", [])[:MAX_EXAMPLES],
        "written": {name: written.get(name, 0) for name in numbers},
        "refusal": written.get("refusal", ""),
    }


def asset_extra(counts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the counts that an asset event carries, for those who wait for it."""
    return {name: counts[name] for name in ("read", "nodes", "edges", "totals", "written")}
