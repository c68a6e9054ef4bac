"""Policies on tags: columns of some datasets must not carry a tag, their own or an inherited one."""

from collections.abc import Mapping

from lineage_merge.config import Policy
from lineage_merge.config.policies import TagRule
from lineage_merge.graph_format.elements import COLUMN, Vertex, dataset_of, name_of_id, title_in
from lineage_merge.model.errors import did_you_mean
from lineage_merge.questions.dataset_globs import DatasetGlobs, Selection
from lineage_merge.questions.policies.scope import Scope
from lineage_merge.questions.policies.violations import CheckedPolicy, Violation, accept
from lineage_merge.questions.tag_propagation import Carrier


def tag_reach(policy: Policy, rule: TagRule, scope: Scope) -> CheckedPolicy:
    """Return the columns and datasets that carry a tag where they must not.

    `propagation` of the configuration decides where a tag stops. Columns that only carry the tag of their
    dataset are not listed in addition to it.
    """
    wanted, accepted = DatasetGlobs(rule.must_not_reach), DatasetGlobs(policy.exceptions)
    unmatched = dict.fromkeys((*wanted.globs, *accepted.globs))
    selected: dict[str, tuple[Selection, Selection]] = {}
    for each in scope.checked:
        chosen = wanted.selection(scope.names[each.id])
        if chosen.whole or chosen.of_columns:
            but = accepted.selection(scope.names[each.id])
            selected[each.id] = (chosen, but)
            for glob in (*chosen.whole, *chosen.of_columns, *but.whole, *but.of_columns):
                unmatched.pop(glob, None)
    carriers = [each for each in scope.tags.carriers if each.tag in rule.tags]
    # The origin by dataset and tag, of datasets that are listed as a whole.
    whole = {
        (each.id, each.tag): each.origin
        for each in carriers
        if not each.by_rows and each.id in selected and _is_violated(selected[each.id])
    }
    found = []
    for carrier in carriers:
        is_column = carrier.id not in scope.datasets
        owner = dataset_of(carrier.id) if is_column else carrier.id
        if owner not in selected:
            continue
        column = name_of_id(carrier.id) if is_column else None
        if _is_violated(selected[owner], column) and not (is_column and _is_repeated(carrier, owner, whole)):
            found.append((carrier, owner))
    ids = {id_ for carrier, _ in found for id_ in (carrier.id, carrier.origin)}
    vertices = scope.vertices(ids | {dataset_of(identifier) for identifier in ids})
    violations = [
        _violation(policy, carrier, vertices[carrier.id], vertices[owner], vertices)
        for carrier, owner in found
        if carrier.id in vertices
    ]
    # A tag that is cleared everywhere exists, too.
    existing = {each.tag for each in carriers} | {stop.tag for stop in scope.tags.stops}
    notes = [
        f"no column or dataset has the tag {tag}{did_you_mean(tag, scope.tag_names)}"
        for tag in rule.tags
        if tag not in existing
    ]
    notes += scope.unmatched(unmatched, accepted.globs)
    return CheckedPolicy(policy, len(selected), tuple(violations), tuple(notes))


def _is_violated(selected: tuple[Selection, Selection], column: str | None = None) -> bool:
    """Whether the policy selects a dataset, or a column of it, and does not accept it."""
    wanted, accepted = selected
    if column is None:
        return bool(wanted.whole) and not accepted.whole
    return wanted.holds_column(column) and not accepted.holds_column(column)


def _is_repeated(carrier: Carrier, dataset: str, whole: Mapping[tuple[str, str], str]) -> bool:
    """Whether a column only carries the tag of its dataset, which is listed."""
    origin = whole.get((dataset, carrier.tag))
    return origin is not None and carrier.origin in (origin, dataset)


def _violation(
    policy: Policy, carrier: Carrier, vertex: Vertex, dataset: Vertex, vertices: Mapping[str, Vertex]
) -> Violation:
    title = f"{dataset.title}#{vertex.name}" if vertex.label == COLUMN else dataset.title
    if carrier.own:
        message = f"has the tag {carrier.tag}"
        fix = "remove the tag or the column"
    else:
        verb = "has rows that depend on" if carrier.by_rows else "carries"
        unknown = ", because column lineage is unknown" if carrier.path[-1].label == "feeds" else ""
        message = f"{verb} {carrier.tag} of {title_in(vertices, carrier.origin)}{unknown}"
        fix = "drop, hash or mask the column on the path, declare where the tag stops in `propagation`"
    return Violation(
        vertex.id,
        title,
        message,
        f"{fix}; {accept(title, policy)}",
        carrier.path,
        vertex.label,
        str(dataset.properties.get("file_path", "")),
    )
