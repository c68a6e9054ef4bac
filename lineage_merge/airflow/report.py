"""The last step: what the merge did, readable in the log and short as an XCom."""

from collections.abc import Mapping
from io import StringIO
from typing import Any

from lineage_merge.airflow.compat import BaseOperator
from lineage_merge.airflow.connections import aws, environment
from lineage_merge.airflow.settings import Merge, failing_well

# XCom lies in Airflow's database; the log, the folder and the graph have the rest.
MOST_PROBLEMS = 20


class ReportMerge(BaseOperator):  # type: ignore[misc] # Airflow is not there when this is checked
    """Reads what build and load left in the folder. The merge is an asset, which this task updates."""

    template_fields = ("merge",)
    template_fields_renderers = {"merge": "json"}  # noqa: RUF012 (as Airflow declares it)
    ui_color = "#e8f4db"

    def __init__(self, *, merge: Merge, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.merge = merge

    def execute(self, context: Mapping[str, Any]) -> dict[str, Any]:
        """Log the report; returns counts, and the first of the problems."""
        from lineage_merge import steps

        with failing_well(), environment(aws(self.merge.get("aws"))):
            report, written = steps.told(self.merge["folder"])
        self.log.info("\n%s", as_text(report, written))
        return short(report, written)


def as_text(report: Mapping[str, Any], written: Mapping[str, Any]) -> str:
    """The table that the command line prints."""
    from rich.console import Console

    from lineage_merge.cli.printing import loaded_text, print_report
    from lineage_merge.load.outcome import Loaded
    from lineage_merge.merge.outcome import Report

    out = StringIO()
    console = Console(file=out, width=120, highlight=False)
    print_report(console, Report.from_json(report), loaded_text(Loaded(**written)))
    return out.getvalue()


def short(report: Mapping[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
    """What an XCom may hold."""
    numbers = ("nodes", "edges", "unchanged", "retired_nodes", "retired_edges", "moved", "seconds")
    return {
        **{name: report.get(name, {}) for name in ("read", "nodes", "edges", "joined", "totals")},
        "problems": report.get("problems", [])[:MOST_PROBLEMS],
        "written": {name: written.get(name, 0) for name in numbers},
    }
