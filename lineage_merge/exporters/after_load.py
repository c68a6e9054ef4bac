"""Sinks as the last step of a load: what the graph holds then is taken on.

A sink takes part where its settings say where to (`url`, `out`); others only say how
`lineage-merge export` writes. Of the environment and the DAG of the merge, and of datasets that
several DAGs write the whole.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from lineage_merge.exporters.exporter import Exporter
from lineage_merge.infra.progress import ProgressCallback
from lineage_merge.model.errors import ExportError, LineageMergeError

if TYPE_CHECKING:
    from lineage_merge.load.gremlin.connection import Endpoint

Settings = Mapping[str, Mapping[str, Any]]


def _taking_part(settings: Settings) -> Iterator[tuple[Exporter, Mapping[str, Any]]]:
    if not settings:
        return
    from lineage_merge.exporters.registry import EXPORTERS

    for name, of_sink in settings.items():
        if EXPORTERS[name].is_told_where(of_sink):
            yield EXPORTERS[name], of_sink


def check(settings: Settings) -> None:
    """Can all of them work on this machine? Asked before anything is loaded. Raises `ConfigError`."""
    for sink, of_sink in _taking_part(settings):
        from lineage_merge.exporters.registry import ready

        ready(sink, of_sink)


def send(
    settings: Settings, endpoint: "Endpoint", environment: str, dag: str, on_progress: ProgressCallback
) -> tuple[str, ...]:
    """Hand on what the graph holds, one sink after another. Returns a line for each.

    A sink that fails does not keep the others from theirs. Raises `ExportError` afterwards, or
    what the first that failed raised; the graph stays loaded.
    """
    told: list[str] = []
    failed: list[LineageMergeError] = []
    for sink, of_sink in _taking_part(settings):
        from lineage_merge.exporters.exporter import Export
        from lineage_merge.query.backends.gremlin import asked_at

        on_progress(f"exporting to {sink.name}")
        try:
            # The endpoint itself: a reader may not have yet what was just written.
            with asked_at(endpoint) as graph:
                sent = sink.send(Export(graph, of_sink, environment, dag, on_progress))
        except LineageMergeError as error:
            failed.append(error)
        else:
            told.append(f"{sink.name}: {sent}")
            on_progress(f"exported to {told[-1]}")
    if failed:
        first = failed[0]
        kind = type(first) if isinstance(first, ExportError) else ExportError
        raise kind(f"the graph is loaded, but not exported: {'; '.join(each.message for each in failed)}")
    return tuple(told)
