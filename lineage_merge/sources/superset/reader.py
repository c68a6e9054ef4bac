"""Reader of Superset: exports one by one, from files or through the API."""

from collections.abc import Iterator
from functools import partial

from lineage_merge.config import Config
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.model.records import Record
from lineage_merge.sources.json_values import as_text
from lineage_merge.sources.resolver import Resolver
from lineage_merge.sources.superset import client
from lineage_merge.sources.superset.client import ListedDashboard
from lineage_merge.sources.superset.dashboards import translate_export
from lineage_merge.sources.superset.data_set_calls import find_calls
from lineage_merge.sources.superset.documents import Export, read_export
from lineage_merge.sources.superset.files import EXPORT_FILES, ExportFiles, group_exports, read_files
from lineage_merge.sources.superset.server_facts import ServerFacts
from lineage_merge.sources.superset.settings import Superset

# Estimates: how much larger a zip of YAML is when it is unpacked, and the export of a dashboard.
_UNPACKED = 8
_BYTES_PER_DASHBOARD = 100_000


def read_superset(engine: Engine, config: Config, resolver: Resolver) -> Rows[Record]:
    """Read all configured exports and servers as records. Raises `SourceError`."""
    return engine.union([_read(engine, entry, resolver) for entry in config.sources["superset"]])


def _read(engine: Engine, settings: Superset, resolver: Resolver) -> Rows[Record]:
    if settings.export:
        files = EXPORT_FILES.find(settings.export)
        engine.reserve(
            sum(file.text_bytes * (_UNPACKED if EXPORT_FILES.is_zip(file.location) else 1) for file in files)
        )
        exports = group_exports(files)
        tasks = max(1, min(engine.parallelism, len(exports)))
        return engine.rows(exports, tasks).flat_map(partial(_translate_files, settings, resolver))
    dashboards = client.list_dashboards(settings)
    engine.reserve(_BYTES_PER_DASHBOARD * len(dashboards))
    server, problems = client.read_facts(settings)
    tasks = max(1, min(engine.parallelism, len(dashboards)))
    translate = partial(_translate_dashboard, settings, resolver, server)
    records = engine.rows(dashboards, tasks).flat_map(translate)
    return engine.union([records, engine.rows(list(resolver.records(problems)), 1)])


def _translate_files(settings: Superset, resolver: Resolver, files: ExportFiles) -> Iterator[Record]:
    export = read_export(read_files(files))
    return resolver.records(translate_export(export, settings, resolver.resolve_id))


def _translate_dashboard(
    settings: Superset, resolver: Resolver, server: ServerFacts, dashboard: ListedDashboard
) -> Iterator[Record]:
    export = read_export(client.export_dashboard(settings, dashboard))
    export.server = server
    _add_called(export, settings)
    facts = {dashboard.uuid: dashboard.facts}
    return resolver.records(translate_export(export, settings, resolver.resolve_id, facts))


def _add_called(export: Export, settings: Superset) -> None:
    """Add the data sets that the SQL of others names by number."""
    exported: set[int] = set()
    while True:
        called = {
            number
            for document in export.documents["data_set"].values()
            for number in find_calls(as_text(document.body.get("sql")))
            if (uuid := export.server.data_sets.get(number)) and not export.find("data_set", uuid)
        }
        if not called - exported:
            return
        for number in sorted(called - exported):
            exported.add(number)
            export.include(read_export(client.export_data_set(settings, number)))
