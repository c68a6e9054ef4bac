"""Columns of a read that its table stores: neither those of metadata tables nor pseudo-columns."""

from lineage_merge.column_lineage import pseudo_columns
from lineage_merge.sources.spline.columns.documents import PlanColumns

# Parameter of a read with the names of its pseudo-columns, where more than the agent's document is known.
PSEUDO_COLUMNS = "pseudoColumns"
# Fields of `_metadata` in Spark 3.3, which declares it as nullable like a stored column.
_OF_SPARK_3_3 = 4


def stored_columns(plan: PlanColumns, operation: str) -> tuple[str, ...]:
    """Return the attributes of a read that are columns of its dataset."""
    part = plan.read_part(operation)
    if part == "metadata":
        return ()
    names = set(plan.params(operation).get(PSEUDO_COLUMNS) or ())
    if plan.format(operation) == "iceberg":
        names |= pseudo_columns.ICEBERG
    if part == "changes":
        names.update(pseudo_columns.ICEBERG_CHANGE)
    output = plan.output(operation)
    last = output[-1:]
    return tuple(
        each
        for each in output
        if plan.name(each) not in names and not (each in last and _is_file_metadata(plan, each))
    )


def _is_file_metadata(plan: PlanColumns, attribute: str) -> bool:
    """Return whether an attribute is Spark's structure `_metadata`, and not a stored copy of it.

    A stored column is nullable.
    """
    data_type = plan.data_types.get(str((plan.attributes.get(attribute) or {}).get("dataType"))) or {}
    fields = [str(field.get("name")) for field in data_type.get("fields") or ()]
    if not pseudo_columns.is_file_metadata(plan.name(attribute), fields):
        return False
    return data_type.get("nullable") is False or len(fields) == _OF_SPARK_3_3
