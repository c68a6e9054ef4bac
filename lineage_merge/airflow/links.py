"""Links of the task `report` in Airflow's user interface, registered by `provider.py`."""

from typing import Any
from urllib.parse import quote

from lineage_merge.airflow.compat import BaseOperatorLink, xcom

REPORT_URL = "lineage_report_url"
PAGE_URL = "lineage_page_url"


class _PushedLink(BaseOperatorLink):  # type: ignore[misc] # mypy runs without Airflow
    """A link with an address that the task pushed as an XCom."""

    key = ""

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """Return the address, or ""."""
        try:
            found = xcom().get_value(key=self.key, ti_key=ti_key)
        except Exception:  # noqa: BLE001 (a link must not break the page, nor the end of a task)
            found = None
        return found if isinstance(found, str) else ""


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
