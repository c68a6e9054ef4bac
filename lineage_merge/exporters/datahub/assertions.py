"""DataHub assertions: definition and newest result of each check of a dataset."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from datahub.emitter import mce_builder
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.metadata import schema_classes as classes

from lineage_merge.exporters.datahub.fields import FieldPaths, aspects, tag_of
from lineage_merge.exporters.datahub.names import Names
from lineage_merge.exporters.graph_batches import CheckedDataset, DatasetCheck
from lineage_merge.graph_format.elements import Vertex, values_of
from lineage_merge.questions.traversal.last_updates import FRESHNESS


class _Standard(NamedTuple):
    """Operator and aggregation that DataHub knows for a type of check, and the value compared with."""

    operator: str
    aggregation: str
    number: str = ""


_Operator, _Aggregation = classes.AssertionStdOperatorClass, classes.AssertionStdAggregationClass
# As in DataHub's dbt source. Other types are DataHub's native ones, described by their names.
_STANDARD = {
    "not_null": _Standard(_Operator.NOT_NULL, _Aggregation.IDENTITY),
    "unique": _Standard(_Operator.EQUAL_TO, _Aggregation.UNIQUE_PROPOTION, "1.0"),
    "accepted_values": _Standard(_Operator.IN, _Aggregation.IDENTITY),
    "relationships": _Standard(_Operator._NATIVE_, _Aggregation.IDENTITY),
}
_NATIVE = _Standard(_Operator._NATIVE_, _Aggregation._NATIVE_)
# A warning is a success: it does not fail the pipeline. An error is a check without a result.
_RESULTS = {
    "passed": classes.AssertionResultTypeClass.SUCCESS,
    "warned": classes.AssertionResultTypeClass.SUCCESS,
    "failed": classes.AssertionResultTypeClass.FAILURE,
    "error": classes.AssertionResultTypeClass.ERROR,
}
_CUSTOM = tuple(
    """
    environment dag_name job_type job_name project severity file_path owners warn_after_ms error_after_ms
    """.split()
)
_RESULT_DETAILS = ("status", "failures", "duration_ms", "max_loaded_at")


def assertions(names: Names, checked: CheckedDataset) -> Iterator[MetadataChangeProposalWrapper]:
    """Yield the checks of a dataset: definition, tags, status, and the newest result if there is one."""
    dataset, paths = checked.schema.dataset, FieldPaths(checked.schema.columns)
    for check in checked.checks:
        vertex = check.assertion
        urn = names.assertion(vertex.id, dataset.id)
        platform = mce_builder.make_data_platform_urn(str(vertex.properties.get("job_type", "")))
        values: list[Any] = [
            _definition(names, dataset, paths, check),
            classes.DataPlatformInstanceClass(platform=platform),
            classes.StatusClass(removed=False),
        ]
        if tags := values_of(vertex, "tags"):
            values.append(classes.GlobalTagsClass(tags=[tag_of(tag) for tag in tags]))
        result = _RESULTS.get(vertex.properties.get("status", ""))
        if result and "last_run_at" in vertex.properties:
            values.append(_result(urn, names.dataset(dataset.id), vertex, result))
        yield from aspects(urn, values)


def _definition(
    names: Names, dataset: Vertex, paths: FieldPaths, check: DatasetCheck
) -> classes.AssertionInfoClass:
    properties = check.assertion.properties
    custom = {name: ", ".join(str(value) for value in values_of(check.assertion, name)) for name in _CUSTOM}
    known: dict[str, Any] = {
        "customProperties": {name: value for name, value in custom.items() if value},
        "source": classes.AssertionSourceClass(type=classes.AssertionSourceTypeClass.EXTERNAL),
        "description": properties.get("description") or check.assertion.name,
    }
    if properties.get("assertion_type") == FRESHNESS:
        freshness = classes.CustomAssertionInfoClass(type=FRESHNESS, entity=names.dataset(dataset.id))
        return classes.AssertionInfoClass(
            type=classes.AssertionTypeClass.CUSTOM, customAssertion=freshness, **known
        )
    return classes.AssertionInfoClass(
        type=classes.AssertionTypeClass.DATASET,
        datasetAssertion=_describe_dataset(names, dataset, paths, check),
        **known,
    )


def _describe_dataset(
    names: Names, dataset: Vertex, paths: FieldPaths, check: DatasetCheck
) -> classes.DatasetAssertionInfoClass:
    properties = check.assertion.properties
    kind = str(properties.get("assertion_type", ""))
    standard = _STANDARD.get(kind, _NATIVE) if check.column else _NATIVE
    scopes = classes.DatasetAssertionScopeClass
    value = classes.AssertionStdParameterClass(standard.number, classes.AssertionStdParameterTypeClass.NUMBER)
    return classes.DatasetAssertionInfoClass(
        dataset=names.dataset(dataset.id),
        scope=scopes.DATASET_COLUMN if check.column else scopes.DATASET_ROWS,
        fields=[names.column(check.column, paths.build_path(check.column))] if check.column else None,
        operator=standard.operator,
        aggregation=standard.aggregation,
        parameters=classes.AssertionStdParametersClass(value=value) if standard.number else None,
        nativeType=kind or check.assertion.name,
    )


def _result(urn: str, dataset: str, vertex: Vertex, result: str) -> classes.AssertionRunEventClass:
    properties = vertex.properties
    details = {name: str(properties[name]) for name in _RESULT_DETAILS if name in properties}
    return classes.AssertionRunEventClass(
        timestampMillis=properties["last_run_at"],
        assertionUrn=urn,
        asserteeUrn=dataset,
        runId=str(properties.get("last_run_id", properties["last_run_at"])),
        status=classes.AssertionRunStatusClass.COMPLETE,
        result=classes.AssertionResultClass(
            type=result, unexpectedCount=properties.get("failures"), nativeResults=details
        ),
    )
