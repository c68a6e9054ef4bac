"""Tables of the consequences of a change."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from lineage_merge.graph_format.elements import Edge, title_of_id
from lineage_merge.questions.formats.describe import one_line
from lineage_merge.questions.formats.table import AnswerTable, add_row, new_table

if TYPE_CHECKING:
    from lineage_merge.questions.affected_tests import AffectedTest
    from lineage_merge.questions.dependents import Dependent, Dependents
    from lineage_merge.questions.ownership import Ownership

_NO_OWNER = "(none)"
# Names in a cell; the JSON has all.
_MAX_NAMES = 3


def impact_tables(found: "Dependents", tests: Sequence["AffectedTest"]) -> Iterator[Table | Text]:
    """Yield counts, then the elements by kind.

    Tables without rows are yielded, too, because the CSV has their columns.
    """
    yield Text(one_line(f"affected by a change of {found.changed.title}:"), style="bold")
    counts = new_table("", "number", is_summary=True)
    for what, number in (found.impact.counts | {"tests": len(tests)}).items():
        add_row(counts, what, number)
    for effect, number in found.effects.items():
        add_row(counts, effect.value, number)
    yield counts
    indirect = {each.id for each in found.impact.indirectly_affected}
    datasets = found.of_kind("dataset")
    groups = (
        ("datasets", [each for each in datasets if each.vertex.id not in indirect]),
        ("indirectly_affected", [each for each in datasets if each.vertex.id in indirect]),
        ("exposures", found.of_kind("exposure")),
        ("jobs", found.of_kind("job")),
        ("columns", found.of_kind("column")),
    )
    has_effects = found.states is not None
    for name, elements in groups:
        if elements:
            yield Text()
        yield _element_table(name, elements, has_effects)
    if tests:
        yield Text()
    yield _test_table(tests, has_effects)
    if found.impact.dags:
        yield Text()
    dags = new_table("DAGs", name="DAGs")
    for name in found.impact.dags:
        add_row(dags, name)
    yield dags


def owner_table(ownership: "Ownership") -> AnswerTable:
    """Return a row per owner, then one per element without an owner."""
    table = new_table("owner", "hops", "datasets", "columns", "jobs", "exposures", "nearest", "DAGs")
    for each in ownership.owners:
        add_row(
            table,
            each.owner,
            each.distance,
            *each.counts.values(),
            _names(each.nearest),
            ", ".join(each.dags),
        )
    for element in ownership.without_owner:
        vertex = element.vertex
        is_dataset = element.kind == "dataset"
        one = (int(is_dataset), 0, 0, int(not is_dataset))
        add_row(table, _NO_OWNER, element.distance, *one, vertex.title, ", ".join(vertex.dags))
    return table


# More columns of a table, by its name.
_COLUMNS = {
    "datasets": ("label",),
    "indirectly_affected": ("label",),
    "exposures": ("type", "url"),
    "columns": ("how",),
}


def _element_table(name: str, elements: "Sequence[Dependent]", has_effects: bool) -> AnswerTable:
    effect = ("effect",) if has_effects else ()
    more = _COLUMNS.get(name, ())
    table = new_table(name, *more, *effect, "hops", "owners", "DAGs", name=name)
    for each in elements:
        held = each.vertex.properties
        cells = {
            "label": each.vertex.label,
            "type": held.get("exposure_type", ""),
            "url": held.get("url", ""),
            "how": " | ".join(dict.fromkeys(map(_how, each.uses))),
        }
        add_row(
            table,
            each.vertex.title,
            *(cells[key] for key in more),
            *([each.effect.value] if each.effect else []),
            each.distance,
            ", ".join(held.get("owners", ())),
            ", ".join(each.vertex.dags),
        )
    return table


def _test_table(tests: "Sequence[AffectedTest]", has_effects: bool) -> AnswerTable:
    effect = ("effect",) if has_effects else ()
    table = new_table("tests", "type", *effect, "hops", "status", "checks", "owners", name="tests")
    for each in tests:
        held = each.vertex.properties
        add_row(
            table,
            each.vertex.name,
            held.get("assertion_type", ""),
            *([each.effect.value] if each.effect else []),
            each.distance,
            held.get("status", ""),
            _names([_title(checked) for checked in each.checks]),
            ", ".join(held.get("owners", ())),
        )
    return table


def _how(edge: Edge) -> str:
    """Return how a column uses another: the expression if there is one."""
    held = edge.properties
    return "  ".join(str(held[key]) for key in ("transformation", "expression") if key in held)


def _title(identifier: str) -> str:
    dataset, _, column = identifier.rpartition("|")
    return f"{title_of_id(dataset)}#{column}" if identifier.count("|") > 2 else title_of_id(identifier)


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_NAMES:,} more" if len(names) > _MAX_NAMES else ""
    return ", ".join(names[:_MAX_NAMES]) + more
