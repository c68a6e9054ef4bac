"""Models without compiled SQL, as in manifests of ``dbt parse``: what a review cannot compare. Pure."""

from collections.abc import Iterator, Sequence

from lineage_merge.review.dbt_versions import DbtFile, built_of
from lineage_merge.sources.dbt.nodes import Manifest, Node

_MAX_NOTES = 5
_NOT_COMPARED = "columns, filters and joins are not compared"


def is_uncompiled(node: Node) -> bool:
    """Return whether compiled code of a model or snapshot is missing."""
    return node.kind in ("model", "snapshot") and not node.code.sql.strip()


def is_compiled(manifest: Manifest) -> bool:
    """Return whether a manifest has compiled code of a model or snapshot."""
    return any(
        node.code.sql.strip() for node in manifest.nodes.values() if node.kind in ("model", "snapshot")
    )


def change_of(old: Node, new: Node) -> str:
    """Return "differs" or, if its code before compilation is unknown, "may differ"; "" if it is equal."""
    if old.code.source_digest and new.code.source_digest:
        return "differs" if old.code.source_digest != new.code.source_digest else ""
    return "may differ" if old != new else ""


def notes_on_entries(changed: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield notes on changed entries without compiled SQL: the first ones, and the number of the others.

    `changed`: unique ids, with "differs" or "may differ".
    """
    for unique_id, verb in changed[:_MAX_NOTES]:
        yield f"{unique_id} {verb}, but has no compiled SQL: its {_NOT_COMPARED}"
    rest = len(changed) - _MAX_NOTES
    if rest > 0:
        noun = "model has" if rest == 1 else "models have"
        yield f"{rest:,} more changed {noun} no compiled SQL: their {_NOT_COMPARED}"


def notes_on_manifests(before: DbtFile, after: DbtFile) -> Iterator[str]:
    """Yield a note if one or both manifests have no compiled SQL at all."""
    missing = [
        name
        for name, file in (("base", before), ("head", after))
        for models in [[each for each in built_of(file).values() if each.kind != "seed"]]
        if models and not any(model.is_compiled for model in models)
    ]
    if missing:
        noun = "manifest of the base has" if missing == ["base"] else "manifest of the head has"
        noun = noun if len(missing) == 1 else "manifests of base and head have"
        yield f"the {noun} no compiled SQL (dbt parse): {_NOT_COMPARED}, macros neither. Fix: dbt compile"
