"""Results of policies."""

from dataclasses import dataclass, field
from glob import escape

from lineage_merge.config import Policy
from lineage_merge.graph_format.elements import Edge, Subgraph, Vertex
from lineage_merge.model.counts import format_count


@dataclass(frozen=True, slots=True)
class Violation:
    """A dataset or column that violates a policy.

    `element_id`: "" for a dataset that is missing in the graph. `message`: the problem, without the title.
    `path`: edges from the cause to the element. `file_path`: of the dbt model, if known.
    """

    element_id: str
    title: str
    message: str
    fix: str
    path: tuple[Edge, ...] = ()
    label: str = ""
    file_path: str = ""


@dataclass(frozen=True, slots=True)
class CheckedPolicy:
    """The violations of a policy, by title. `checked`: the number of checked datasets or columns.

    `notes`: parts of the policy that match nothing.
    """

    policy: Policy
    checked: int
    violations: tuple[Violation, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PolicyCheck:
    """The results of all policies, in their order, and the elements of the paths."""

    results: tuple[CheckedPolicy, ...]
    subgraph: Subgraph = field(default_factory=Subgraph)

    def count(self, severity: str) -> int:
        """Return the number of violations of policies with this severity."""
        return sum(len(result.violations) for result in self.results if result.policy.severity == severity)

    @property
    def failed(self) -> bool:
        """Whether there is a violation of a policy with the severity error."""
        return self.count("error") > 0

    @property
    def summary(self) -> str:
        """``2 errors and 1 warning of 3 policies``."""
        errors, warnings = self.count("error"), self.count("warning")
        number = len(self.results)
        violations = f"{format_count(errors, 'error')} and {format_count(warnings, 'warning')}"
        return f"{violations} of {number} {'policy' if number == 1 else 'policies'}"


def violation_of(
    dataset: Vertex,
    message: str,
    fix: str,
    policy: Policy,
    path: tuple[Edge, ...] = (),
    column: Vertex | None = None,
) -> Violation:
    """Return the violation of a dataset or column; the fix also says how to accept it."""
    title = f"{dataset.title}#{column.name}" if column else dataset.title
    fix = f'{fix}; or accept it: add "{escape(title)}" to except of {policy.name}'
    vertex, file_path = column or dataset, str(dataset.properties.get("file_path", ""))
    return Violation(vertex.id, title, message, fix, path, vertex.label, file_path)
