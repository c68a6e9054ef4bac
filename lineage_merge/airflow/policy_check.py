"""The optional last step: policies on the loaded graph, checked on the worker, without Spark."""

from collections.abc import Mapping
from typing import Any

from lineage_merge.airflow.compat import BaseOperator
from lineage_merge.airflow.settings import (
    Merge,
    build_folder,
    fail_if_permanent,
    resolved,
    violation_is_warning,
)
from lineage_merge.model.errors import PolicyViolated


class CheckPolicies(BaseOperator):  # type: ignore[misc] # mypy runs without Airflow
    """Checks the policies of the configuration on the datasets of the DAG.

    Fails if a policy with the severity error is violated, or warns, by the policy in `merge`.
    """

    template_fields = ("merge",)
    template_fields_renderers = {"merge": "json"}  # noqa: RUF012 (as Airflow declares it)
    ui_color = "#e8f4db"

    def __init__(self, *, merge: Merge, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.merge = merge

    def execute(self, context: Mapping[str, Any]) -> dict[str, Any]:
        """Check the policies; return the number of violations."""
        from lineage_merge.orchestration import policy_check

        folder = build_folder(context)
        with fail_if_permanent(), resolved(self.merge, self, context, here=True) as (_, config):
            try:
                return policy_check.check(config, folder, self.log.info)
            except PolicyViolated as error:
                if not violation_is_warning(self.merge):
                    raise
                self.log.warning("%s", error.message)
                return policy_check.counts(folder)
