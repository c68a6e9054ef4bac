"""The question `check`: violations of the policies of the configuration."""

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

from lineage_merge.config import Policy
from lineage_merge.model.errors import ConfigError, did_you_mean
from lineage_merge.questions.fields import Cell, ElementId, Label, Text, row_of
from lineage_merge.questions.formats.describe import one_line
from lineage_merge.questions.layers import Layer
from lineage_merge.questions.policies import PolicyCheck, Violation, check_policies
from lineage_merge.questions.policies.reports import path_lines, result_as_json, summary_as_json
from lineage_merge.questions.question import Parameter, Question
from lineage_merge.questions.result import Renderables, RowsResult
from lineage_merge.questions.scoped_graph import ScopedGraph

_STYLES = {"error": "bold red", "warning": "bold yellow"}


@dataclass(frozen=True, slots=True)
class ViolationRow:
    """A violation of a policy; `path` has the ids of edges, `steps` their text."""

    policy: Label
    severity: Label
    id: ElementId | None
    title: Text
    label: Label | None
    message: Text
    fix: Text
    path: tuple[str, ...]
    steps: Cell


@dataclass(frozen=True, kw_only=True, repr=False)
class PolicyResult(RowsResult):
    """The policies of the configuration and their violations."""

    row_type = ViolationRow
    table = "policy, severity, title: violation, message: what, steps: path, fix"

    check: PolicyCheck

    @property
    def failed(self) -> bool:
        """Whether a policy with the severity error is violated."""
        return self.check.failed

    @property
    def items(self) -> Sequence[tuple[Policy, Violation]]:
        """The violations, by policy."""
        return [
            (checked.policy, violation) for checked in self.check.results for violation in checked.violations
        ]

    def row(self, item: tuple[Policy, Violation]) -> ViolationRow:
        policy, violation = item
        return row_of(
            ViolationRow,
            violation,
            policy=policy.name,
            severity=policy.severity,
            id=violation.element_id or None,
            label=violation.label or None,
            path=tuple(edge.id for edge in violation.path),
            steps=" | ".join(path_lines(violation, self.graph)),
        )

    def fields(self) -> dict[str, Any]:
        """Return numbers, and the policies with their violations."""
        policies = [result_as_json(checked, self.graph) for checked in self.check.results]
        return {"summary": summary_as_json(self.check), "policies": policies}

    def to_sarif(self) -> dict[str, Any]:
        """Return the violations as a SARIF object, for code review tools."""
        from lineage_merge.questions.policies.reports import sarif

        return sarif(self.check)

    def to_junit(self) -> str:
        """Return the policies as JUnit XML."""
        from lineage_merge.questions.policies.reports import junit

        return junit(self.check)

    def tables(self) -> Renderables:
        """Yield the violations of each policy with path and fix, then a table of all policies."""
        from rich.text import Text as Line

        from lineage_merge.questions.formats.table import AnswerTable

        table = AnswerTable("policy", "severity", "checked", "violations", "notes")
        for checked in self.check.results:
            policy, violations = checked.policy, checked.violations
            notes = "; ".join(checked.notes)
            table.add(policy.name, policy.severity, checked.checked, len(violations), notes)
            if not violations:
                continue
            severity = (f"({policy.severity})", _STYLES[policy.severity])
            yield Line.assemble((f"{policy.name} ", "bold"), severity)
            if policy.description:
                yield Line(one_line(policy.description))
            for violation in violations:
                title = (one_line(violation.title), "bold")
                yield Line.assemble("  ", title, f" {one_line(violation.message)}")
                for line in path_lines(violation, self.graph):
                    yield Line(f"      {one_line(line)}")
                yield Line(f"    Fix: {one_line(violation.fix)}")
            yield Line()
        yield table


@dataclass(frozen=True, slots=True)
class CheckQuestion(Question[PolicyResult]):
    """Check the policies of the configuration, and list violations with their path and fix.

    Nothing is written. The exit code is 14 if a policy with the severity error is violated. With --dag, only
    datasets of this DAG are checked, along the lineage of all DAGs.
    """

    question = "check"
    short_help = "Check the policies of the configuration."
    examples = (
        "lineage-merge check --config lineage_merge.yml",
        "lineage-merge check --config lineage_merge.yml --folder lineage --policy no-pii-in-marts",
        "lineage-merge check --config lineage_merge.yml --format sarif --out policies.sarif",
        "lineage-merge check --config lineage_merge.yml --format junit --out policies.xml",
    )
    formats = ("table", "csv", "json", "sarif", "junit")

    policies: Annotated[
        Iterable[str], Parameter("policy to check; repeatable", "all", metavar="NAME", flag="--policy")
    ] = ()
    _: KW_ONLY
    now: int | None = None

    def answer(self, graph: ScopedGraph) -> PolicyResult:
        """Return the violations. Raises `ConfigError` if a policy is unknown, or none is configured."""
        config = graph.config
        check = check_policies(
            graph.graph,
            _select(config.policies, tuple(self.policies)),
            layers=[Layer(name, globs) for name, globs in config.query.layers.items()],
            propagation=config.propagation,
            environment=graph.environment,
            dag=graph.dag,
            now=self.now,
        )
        note = (
            "" if any(checked.violations for checked in check.results) else f"no violations: {check.summary}"
        )
        if not any(checked.checked for checked in check.results):
            note = graph.empty_note(f"{note}; nothing was checked")
        return PolicyResult(
            question=self.question, scope=graph.scope, graph=check.subgraph, note=note, check=check
        )


def _select(policies: Sequence[Policy], names: Sequence[str]) -> list[Policy]:
    """Return the policies of these names, all without names. Raises `ConfigError`."""
    if not policies:
        example = '[{name: no-pii-in-marts, tag: pii, must_not_reach: ["*.marts.*"]}]'
        raise ConfigError("policies", f"is missing; example: {example}")
    known = {policy.name: policy for policy in policies}
    for name in names:
        if name not in known:
            similar = did_you_mean(name, known) or f"; policies: {', '.join(known)}"
            raise ConfigError("--policy", f"unknown policy: {name}{similar}")
    return [policy for policy in policies if not names or policy.name in names]
