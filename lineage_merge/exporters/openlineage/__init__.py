"""OpenLineage: an event per job with inputs and outputs, to a file of JSON lines or a server (Marquez)."""

from lineage_merge.exporters.exporter import OUT, TOKEN_ENV, URL, Export, Exporter, ExportResult


def send(export: Export) -> ExportResult:
    """Export to the server if set, otherwise to the file or standard output."""
    from lineage_merge.exporters.openlineage.delivery import emit, write
    from lineage_merge.exporters.openlineage.events import events

    if export.url is None:
        return ExportResult(export.out or "", write(export.out, events(export)))
    return ExportResult(export.url, emit(export, events(export)))


EXPORTER = Exporter(
    "openlineage",
    "OpenLineage events, for Marquez and others, to a server or to a file",
    {
        "url": {**URL, "description": "server that accepts events, such as http://marquez:5000"},
        "endpoint": {
            "description": "path of the server's endpoint [default: api/v1/lineage]",
            "type": "string",
            "pattern": "^[^\\s?#@]+$",
            "x-form": "a path such as api/v1/lineage",
        },
        "token_env": TOKEN_ENV,
        "out": {**OUT, "description": "file of JSON lines, local or s3://"},
        "namespace": {
            "description": "namespace of jobs [default: the environment]",
            "type": "string",
            "minLength": 1,
        },
    },
    send,
    destination_keys=("url", "out"),
    required_modules=("openlineage.client",),
    token_variable="OPENLINEAGE_API_KEY",  # noqa: S106 (a variable of OpenLineage's client)
    exports_changes=True,
)
