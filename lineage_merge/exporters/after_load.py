"""Exporters as the last step of a load, for the environment and the DAG of the merge.

An exporter runs if its settings have a destination (`url`, `out`); settings without one are for
`lineage-merge export`. Datasets that several DAGs write are exported with the lineage of all of them.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from lineage_merge.exporters.exporter import Exporter
from lineage_merge.infra.progress import ProgressCallback
from lineage_merge.model.errors import ExportError, LineageMergeError

if TYPE_CHECKING:
    from lineage_merge.load.graph_access import Graph

Settings = Mapping[str, Mapping[str, Any]]


def _active_exporters(settings: Settings) -> Iterator[tuple[Exporter, Mapping[str, Any]]]:
    if not settings:
        return
    from lineage_merge.exporters.registry import EXPORTERS

    for name, exporter_settings in settings.items():
        if EXPORTERS[name].has_destination(exporter_settings):
            yield EXPORTERS[name], exporter_settings


def check(settings: Settings) -> None:
    """Check that all exporters can run on this machine, before anything is loaded. Raises `ConfigError`."""
    for exporter, exporter_settings in _active_exporters(settings):
        from lineage_merge.exporters.registry import check_requirements

        check_requirements(exporter, exporter_settings)


def send(
    settings: Settings, graph: "Graph", environment: str, dag: str, on_progress: ProgressCallback
) -> tuple[str, ...]:
    """Run the exporters one after another and return a line of each.

    If one fails, the others still run; then an `ExportError` of the first error's class is raised. The graph
    stays loaded.
    """
    exported: list[str] = []
    failed: list[LineageMergeError] = []
    for exporter, exporter_settings in _active_exporters(settings):
        from lineage_merge.exporters.exporter import Export
        from lineage_merge.questions.backends.opening import open_loaded

        on_progress(f"exporting to {exporter.name}")
        try:
            # Not the reader endpoint: replicas may lag behind the load.
            with open_loaded(graph) as loaded:
                result = exporter.send(Export(loaded, exporter_settings, environment, dag, on_progress))
        except LineageMergeError as error:
            failed.append(error)
        else:
            exported.append(f"{exporter.name}: {result}")
            on_progress(f"exported to {exported[-1]}")
    if failed:
        first = failed[0]
        kind = type(first) if isinstance(first, ExportError) else ExportError
        raise kind(f"the graph is loaded, but not exported: {'; '.join(error.message for error in failed)}")
    return tuple(exported)
