"""The step `check`: policies on the datasets of a DAG in the graph. Needs no Spark."""

import json
from typing import Any

from lineage_merge.config import Config
from lineage_merge.infra import storage
from lineage_merge.infra.progress import ProgressCallback
from lineage_merge.model.errors import ConfigError, PolicyViolated
from lineage_merge.questions.policies import PolicyCheck

POLICIES = "policies.json"
# The message appears in task lists and mails; log and folder have all violations.
_MAX_EXAMPLES = 5


def check(config: Config, folder: str, on_progress: ProgressCallback) -> dict[str, Any]:
    """Check the policies, report violations line by line, and store the result as JSON in the folder.

    Return the counts. Raises `PolicyViolated` if a policy with the severity error is violated, `ConfigError`
    without policies, `GraphError`.
    """
    from lineage_merge.questions.backends.opening import open_graph
    from lineage_merge.questions.formats.describe import one_line
    from lineage_merge.questions.layers import Layer
    from lineage_merge.questions.policies import check_policies
    from lineage_merge.questions.policies.reports import path_lines, result_as_json, summary_as_json

    if not config.policies:
        raise ConfigError("policies", "is missing: the step check verifies them")
    with open_graph(config.gremlin, on_progress) as graph:
        policies = check_policies(
            graph,
            config.policies,
            layers=[Layer(name, globs) for name, globs in config.query.layers.items()],
            propagation=config.propagation,
            environment=config.environment,
            dag=config.dag_name,
        )
    for result in policies.results:
        for note in result.notes:
            on_progress(one_line(f"{result.policy.name}: note: {note}"))
        for violation in result.violations:
            on_progress(
                one_line(
                    f"{result.policy.name}: {result.policy.severity}: {violation.title} {violation.message}"
                )
            )
            for line in path_lines(violation, policies.subgraph):
                on_progress(one_line(f"  {line}"))
    summary = summary_as_json(policies)
    written = summary | {"results": [result_as_json(item, policies.subgraph) for item in policies.results]}
    storage.write_text(f"{folder.rstrip('/')}/{POLICIES}", json.dumps(written, indent=2) + "\n")
    if policies.failed:
        raise PolicyViolated(f"policies are violated: {policies.summary}: {_examples(policies)}")
    on_progress(f"policies: {policies.summary}")
    return summary


def counts(folder: str) -> dict[str, Any]:
    """Return the counts of a stored result."""
    content: dict[str, Any] = json.loads(storage.read_text(f"{folder.rstrip('/')}/{POLICIES}"))
    return {key: value for key, value in content.items() if key != "results"}


def _examples(policies: PolicyCheck) -> str:
    lines = [
        f"{result.policy.name}: {violation.title} {violation.message}"
        for result in policies.results
        if result.policy.severity == "error"
        for violation in result.violations
    ]
    rest = f"; and {len(lines) - _MAX_EXAMPLES} more" if len(lines) > _MAX_EXAMPLES else ""
    return "; ".join(lines[:_MAX_EXAMPLES]) + rest
