"""Translation of a plan's column lineage into `lineage_merge.model.elements`."""

from collections.abc import Iterator

from lineage_merge.column_lineage.transformations import lineage_elements
from lineage_merge.model.elements import (
    Authority,
    Column,
    Element,
    JobKey,
    Problem,
    Reference,
    column_properties,
)
from lineage_merge.sources.spline.columns.documents import PlanColumns
from lineage_merge.sources.spline.columns.lineage import ColumnLineage, column_lineage
from lineage_merge.sources.spline.documents import Plan


def read_columns(plan: Plan, application: str, document: str) -> ColumnLineage | Problem:
    """Return the plan's column lineage; `document` names the plan in the problem.

    The schema validates what all documents have in common. Parameters of operations and expressions are as
    free as Spark's classes: an unexpected one loses the plan's columns, and nothing else.
    """
    try:
        return column_lineage(PlanColumns(plan.header, plan.parts, application))
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        what = f"cannot read the columns ({type(error).__name__}): please report the document"
        return Problem("no-columns", document, "", what)


def column_elements(lineage: ColumnLineage, job: JobKey, output: Reference) -> Iterator[Element]:
    """Yield the columns of sources and target, and the edges between them."""
    for column in lineage.columns:
        yield Column(
            output,
            column.name,
            Authority.BUILDER,
            column_properties(column.data_type, position=column.position),
        )
    for read in lineage.sources:
        for column in read.columns:
            # A query has no types, and not always all columns.
            known = column_properties(column.data_type, position=column.position) if read.complete else {}
            yield Column(read.source, column.name, Authority.READER, known)
    yield from lineage_elements(lineage.flows, lineage.influences, job, output, _itself)


def _itself(reference: Reference) -> Reference:
    return reference
