"""Amazon DataZone (SageMaker Catalog): run events of OpenLineage, to a domain or to a file."""

from collections.abc import Iterator, Mapping
from typing import Any

from lineage_merge.exporters.exporter import OUT, Export, Exporter, ExportResult
from lineage_merge.sources.diagnosis import Diagnosis


def send(export: Export) -> ExportResult:
    """Export to the file if set, otherwise to the domain or standard output."""
    from lineage_merge.exporters.datazone.delivery import deliver

    return deliver(export)


def examine(settings: Mapping[str, Any]) -> Iterator[Diagnosis]:
    """Yield the diagnoses of the domain."""
    from lineage_merge.exporters.datazone import doctor

    return doctor.examine(settings)


EXPORTER = Exporter(
    "datazone",
    "Amazon DataZone (SageMaker Catalog): run events of jobs, to a domain or to a file",
    {
        "domain": {
            "description": "id of the domain, such as dzd_4abcdefghijklm",
            "type": "string",
            "pattern": "^dzd[-_][a-zA-Z0-9_-]{1,36}$",
            "x-form": "the id of a domain: dzd_ or dzd-, then up to 36 letters, digits and _ -",
        },
        "region": {
            "description": "region of the domain [default: that of the AWS configuration]",
            "type": "string",
            "pattern": "^[a-z]{2,}(-[a-z]+)+-[0-9]+$",
            "x-form": "an AWS region such as eu-west-1",
        },
        "out": {**OUT, "description": "file of JSON lines, local or s3://, in place of the domain"},
        "namespace": {
            "description": "namespace of jobs [default: the environment]",
            "type": "string",
            "minLength": 1,
        },
        "namespaces": {
            "description": (
                "namespace in DataZone by namespace of the graph, of datasets without an asset: "
                '{"redshift://wh.eu-west-1:5439": '
                '"redshift://wh.111122223333.eu-west-1.redshift-serverless.amazonaws.com:5439"}'
            ),
            "type": "object",
            "additionalProperties": {"type": "string", "minLength": 1},
        },
        "assets": {
            "description": "match datasets with the assets of the domain [default: true]",
            "type": "boolean",
        },
    },
    send,
    destination_keys=("domain", "out"),
    required_modules=("openlineage.client",),
    extra="openlineage",
    exports_changes=True,
    has_dry_run=True,
    examine=examine,
)
