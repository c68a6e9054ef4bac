"""Requested applications and labels that nothing matches, reported with those that exist."""

from collections.abc import Callable, Iterator
from functools import partial

from lineage_merge.infra.engine.rows import Rows
from lineage_merge.infra.redaction import redact
from lineage_merge.model.elements import Problem
from lineage_merge.sources import unmatched_patterns
from lineage_merge.sources.spline.labels import Label, Wanted
from lineage_merge.sources.spline.settings import Spline
from lineage_merge.sources.unmatched_patterns import Existing, Names, Patterns, existing, list_names, similar


def report_unmatched_applications(
    spline: Spline, recent: Rows[Names], everything: Callable[[], Rows[Names]]
) -> Iterator[Problem]:
    """Yield a notice for each pattern that matches no application, or only older writes.

    `recent` are the names of the writes of the lookback. `everything` returns all names; it is called only if
    a pattern matches none of the recent ones.
    """
    patterns = Patterns("Spline", "applications", "application", spline.applications)
    left = unmatched_patterns.find_unmatched(patterns, recent)
    if not left:
        return
    names = everything()
    unknown = unmatched_patterns.find_unmatched(patterns._replace(globs=left), names)
    if unknown:
        yield from unmatched_patterns.notices(patterns, unknown, existing(names))
    if not spline.labels:  # otherwise recent writes may lack a label
        for glob in left:
            if glob not in unknown:
                message = redact(f"no write within the lookback matches {glob}, only older ones")
                yield Problem("notice", patterns.source, patterns.key, message)


def report_unmatched_labels(
    wanted: Wanted, labels_of: Callable[[], Rows[Label]], *, is_matched: bool
) -> Iterator[Problem]:
    """Yield a notice for each requested value that no document has.

    `is_matched`: a write has all requested labels. Then the labels are only searched if one has alternatives.
    `labels_of` returns the labels of all documents.
    """
    if is_matched and all(len(values) == 1 for values in wanted.values()):
        return
    labels = labels_of().distinct()
    requested = frozenset((name, value) for name, values in wanted.items() for value in values)
    missing = sorted(requested.difference(labels.filter(partial(_is_in, requested=requested)).collect()))
    for name, value in missing:
        yield _notice(f"no write has the label {name}={value}; found: {_existing(labels, name, value)}")
    if not is_matched and not missing:
        listed = ", ".join(f"{name}={' or '.join(values)}" for name, values in sorted(wanted.items()))
        yield _notice(f"no write has all of the labels {listed}")


def _notice(message: str) -> Problem:
    return Problem("notice", "Spline", "labels", redact(message))


def _existing(labels: Rows[Label], name: str, value: str) -> str:
    """Return the values of this label; if there are none, the names of labels."""
    values = existing(labels.filter(partial(_has_name, name=name)).map(_value))
    if values.number:
        return _list_names(values, value)
    names = existing(labels.map(_name))
    if names.number:
        return f"the labels {_list_names(names, name)}"
    return (
        "no labels at all, which Spline 0.7 and producer API 1.1 do not store:"
        " select by spline.applications instead"
    )


def _list_names(names: Existing, wanted: str) -> str:
    return f"{list_names(names)}{similar(wanted, names.names)}"


def _is_in(label: Label, requested: frozenset[Label]) -> bool:
    return label in requested


def _has_name(label: Label, name: str) -> bool:
    return label[0] == name


def _value(label: Label) -> tuple[str]:
    return (label[1],)


def _name(label: Label) -> tuple[str]:
    return (label[0],)
