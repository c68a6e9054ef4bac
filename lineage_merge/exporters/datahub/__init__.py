"""DataHub: datasets, their columns and lineage, DAGs and jobs, to a file or to its metadata service (GMS).

A file is a JSON array of metadata change proposals, as DataHub's file source reads it. What is gone
from the graph is not taken out of DataHub: docs/sinks.md says why and how.
"""

from lineage_merge.exporters.exporter import OUT, TOKEN_ENV, URL, Export, Exporter, Schema, Sent

_BY_NAMESPACE: Schema = {
    "type": "object",
    "additionalProperties": {
        "type": "string",
        "pattern": "^[A-Za-z0-9][A-Za-z0-9_.-]*$",
        "x-form": "a name of letters, digits and _ . -",
    },
}


def send(export: Export) -> Sent:
    """To the server if there is one, otherwise to the file or to standard output."""
    from lineage_merge.exporters.datahub.proposals import proposals

    if export.url is None:
        from lineage_merge.exporters.datahub.file import write

        counts = write(export.out, proposals(export))
        return Sent(export.out or "", counts)
    from lineage_merge.exporters.datahub.rest import emit

    return Sent(export.url, emit(export, proposals(export)))


EXPORTER = Exporter(
    "datahub",
    "DataHub: datasets, column lineage, DAGs and jobs, to its metadata service or to a file",
    {
        "url": {**URL, "description": "DataHub's metadata service (GMS), such as http://datahub-gms:8080"},
        "token_env": TOKEN_ENV,
        "out": {**OUT, "description": "a JSON file for DataHub's file source, local or s3://"},
        "fabrics": {
            "description": "DataHub's name of each environment, such as {integration: EI}",
            "type": "object",
            "additionalProperties": {
                "type": "string",
                "pattern": "^[A-Z_]+$",
                "x-form": "such as DEV or PROD",
            },
        },
        "platforms": {
            "description": 'DataHub\'s platform of a namespace, by glob: {"trino://starburst*": starburst}',
            **_BY_NAMESPACE,
        },
        "instances": {
            "description": 'the platform instance of a namespace, by glob: {"redshift://wh-eu.*": wh_eu}',
            **_BY_NAMESPACE,
        },
        "lowercase": {
            "description": "namespaces, by globs, whose names are in small letters [default: snowflake*]",
            "type": "array",
            "items": {"type": "string", "minLength": 1},
        },
        "orchestrator": {
            "description": "what DataHub calls the platform of DAGs [default: airflow]",
            "type": "string",
            "pattern": "^[A-Za-z0-9_-]+$",
            "x-form": "a name of letters, digits and _ -",
        },
        "lineage_only": {
            "description": "leave descriptions, columns and tags of datasets to DataHub's other sources",
            "type": "boolean",
        },
    },
    send,
    to=("url", "out"),
    needs=("datahub",),
    token="DATAHUB_GMS_TOKEN",  # noqa: S106 (the name of a variable, DataHub's own)
)
