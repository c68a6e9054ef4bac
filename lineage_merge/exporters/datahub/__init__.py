"""DataHub: datasets, their columns and lineage, DAGs and jobs, to a file or to its metadata service (GMS).

The file is a JSON array of metadata change proposals for DataHub's file source. Deletions in the graph are
not propagated to DataHub, see docs/exporters.md.
"""

from lineage_merge.exporters.exporter import OUT, TOKEN_ENV, URL, Export, Exporter, ExportResult, Schema

_NAMES_BY_NAMESPACE: Schema = {
    "type": "object",
    "additionalProperties": {
        "type": "string",
        "pattern": "^[A-Za-z0-9][A-Za-z0-9_.-]*$",
        "x-form": "a name of letters, digits and _ . -",
    },
}


def send(export: Export) -> ExportResult:
    """Export to the server if set, otherwise to the file or standard output."""
    from lineage_merge.exporters.datahub.delivery import emit, write
    from lineage_merge.exporters.datahub.proposals import proposals

    if export.url is None:
        return ExportResult(export.out or "", write(export.out, proposals(export)))
    return ExportResult(export.url, emit(export, proposals(export)))


EXPORTER = Exporter(
    "datahub",
    "DataHub: datasets, column lineage, DAGs and jobs, to its metadata service or to a file",
    {
        "url": {
            **URL,
            "description": "address of DataHub's metadata service (GMS), such as http://datahub-gms:8080",
        },
        "token_env": TOKEN_ENV,
        "out": {**OUT, "description": "JSON file for DataHub's file source, local or s3://"},
        "fabrics": {
            "description": "DataHub fabric by environment, such as {integration: EI}",
            "type": "object",
            "additionalProperties": {
                "type": "string",
                "pattern": "^[A-Z_]+$",
                "x-form": "a fabric such as DEV or PROD",
            },
        },
        "platforms": {
            "description": 'DataHub platform by glob on the namespace: {"trino://starburst*": starburst}',
            **_NAMES_BY_NAMESPACE,
        },
        "instances": {
            "description": 'platform instance by glob on the namespace: {"redshift://wh-eu.*": wh_eu}',
            **_NAMES_BY_NAMESPACE,
        },
        "lowercase": {
            "description": "globs on namespaces whose names are lowercase in DataHub [default: snowflake*]",
            "type": "array",
            "items": {"type": "string", "minLength": 1},
        },
        "orchestrator": {
            "description": "DataHub platform of DAGs [default: airflow]",
            "type": "string",
            "pattern": "^[A-Za-z0-9_-]+$",
            "x-form": "a name of letters, digits and _ -",
        },
        "groups": {
            "description": "globs on owners that are groups in DataHub, such as *-team [default: none]",
            "type": "array",
            "items": {"type": "string", "minLength": 1},
        },
        "owner_type": {
            "description": "type of ownership in DataHub [default: TECHNICAL_OWNER]",
            "enum": ["TECHNICAL_OWNER", "BUSINESS_OWNER", "DATA_STEWARD"],
        },
        "lineage_only": {
            "description": "export lineage only, without descriptions, columns, tags and tests of datasets",
            "type": "boolean",
        },
    },
    send,
    destination_keys=("url", "out"),
    required_modules=("datahub",),
    token_variable="DATAHUB_GMS_TOKEN",  # noqa: S106 (a variable of DataHub's client)
    exports_changes=True,
)
