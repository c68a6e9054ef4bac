"""The archive of Redshift's system views as a task: calls of the Data API, no Spark."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from lineage_merge.airflow.local import MergeOperator, omit_repeats
from lineage_merge.airflow.settings import fail_if_permanent, resolve_settings


class ArchiveHistory(MergeOperator):
    """Stores the system views of the query logs with an archive.

    All are tried; then the first error fails the task. The next try continues after what is complete.
    """

    ui_color = "#dbe9f4"

    def execute(self, context: Mapping[str, Any]) -> dict[str, list[str]]:
        """Write the archives; return the new intervals by warehouse."""
        from lineage_merge.sources.query_log.logs import archive

        on_progress = omit_repeats(self.log.info)
        with fail_if_permanent(), resolve_settings(self.merge, self, context, here=True) as (_, config, _ids):
            logs = archive.with_archive(config.sources.get("query_log") or ())
            done, errors = archive.archive_all(logs, datetime.now(UTC), on_progress)
            for archived in done:
                for notice in archived.notices:
                    self.log.warning("%s", notice)
            for error in errors[1:]:
                self.log.error("%s", error.message)
            if errors:
                raise errors[0]
        return {archived.warehouse: [*archived.intervals] for archived in done}
