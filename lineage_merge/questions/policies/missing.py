"""Datasets that a policy names and that the graph does not have."""

from collections.abc import Iterable, Sequence

from lineage_merge.config import Policy
from lineage_merge.model.errors import did_you_mean
from lineage_merge.questions.dataset_globs import is_name
from lineage_merge.questions.policies.scope import Scope
from lineage_merge.questions.policies.violations import Violation


def missing_datasets(
    policy: Policy, globs: Iterable[str], scope: Scope, notes: Sequence[str]
) -> tuple[list[Violation], list[str]]:
    """Return violations for required datasets that are missing, and the notes without those on them.

    A name without wildcards requires the dataset. In a query of one DAG it may belong to another: a note.
    """
    if scope.dag:
        return [], list(notes)
    found = []
    left = list(notes)
    for glob in globs:
        (note,) = scope.unmatched([glob])
        if is_name(glob) and note in left:
            left.remove(note)
            fix = f"merge the job that writes it, or correct the name in the policy{suggestion(glob, scope)}"
            found.append(Violation("", glob, "is missing in the graph", fix))
    return found, left


def suggestion(name: str, scope: Scope) -> str:
    """Return ``; did you mean ...?`` with similar names of datasets."""
    return did_you_mean(name, (dataset.title for dataset in scope.datasets.values()))
