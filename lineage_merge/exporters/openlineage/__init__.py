"""OpenLineage: what each job reads and writes as events, to a file of JSON lines or to a server (Marquez)."""

from lineage_merge.exporters.exporter import OUT, TOKEN_ENV, URL, Export, Exporter, Sent


def send(export: Export) -> Sent:
    """To the server if there is one, otherwise to the file or to standard output."""
    from lineage_merge.exporters.openlineage.events import events

    if export.url is None:
        from lineage_merge.exporters.openlineage.file import write

        return Sent(export.out or "", write(export.out, events(export)))
    from lineage_merge.exporters.openlineage.http import emit

    return Sent(export.url, emit(export, events(export)))


EXPORTER = Exporter(
    "openlineage",
    "OpenLineage events, for Marquez and others, to a server or to a file",
    {
        "url": {**URL, "description": "a server that takes events, such as http://marquez:5000"},
        "endpoint": {
            "description": "where it takes them [default: api/v1/lineage]",
            "type": "string",
            "pattern": "^[^\\s?#@]+$",
            "x-form": "a path such as api/v1/lineage",
        },
        "token_env": TOKEN_ENV,
        "out": {**OUT, "description": "a file of JSON lines, local or s3://"},
        "namespace": {
            "description": "namespace of jobs [default: the environment]",
            "type": "string",
            "minLength": 1,
        },
    },
    send,
    to=("url", "out"),
    needs=("openlineage.client",),
    token="OPENLINEAGE_API_KEY",  # noqa: S106 (the name of a variable, the client's own)
)
