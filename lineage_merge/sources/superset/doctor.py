"""Check of Superset: exports have dashboards, and the API lists and exports them."""

from collections.abc import Iterator

from lineage_merge.model.errors import ConfigError, SourceDenied, SourceError, SourceUnreachable
from lineage_merge.naming import redact
from lineage_merge.sources.diagnosis import Diagnosis, SourceCheck, fix_for, ok, report_failure, warning
from lineage_merge.sources.superset import client
from lineage_merge.sources.superset.documents import Export, read_export
from lineage_merge.sources.superset.files import EXPORT_FILES, group_exports, read_files
from lineage_merge.sources.superset.settings import UNKNOWN_HOST, Superset

SUPERSET = "Superset"
_MAX_EXPORTS = 20


def _examine(servers: tuple[Superset, ...]) -> Iterator[Diagnosis]:
    for index, settings in enumerate(servers):
        key = f"superset[{index}]"
        try:
            yield from _examine_files(settings, key) if settings.export else _examine_server(settings)
        except SourceError as error:
            fix = (
                fix_for(error, settings.export, f"{key}.export") if settings.export else _fix_for(error, key)
            )
            yield report_failure(SUPERSET, error, fix)
        except ConfigError as error:
            yield report_failure(SUPERSET, error, f"correct {key}")


def _examine_files(settings: Superset, key: str) -> Iterator[Diagnosis]:
    exports = group_exports(EXPORT_FILES.find(settings.export))
    read = [read_export(read_files(files)) for files in exports[:_MAX_EXPORTS]]
    dashboards = sum(len(export.documents["dashboard"]) for export in read)
    message = f"{redact(settings.export)}: {len(exports)} exports"
    yield from _report_problems(message, read)
    if not dashboards:
        fix = "export dashboards with superset export-dashboards (docs/superset.md)"
        yield warning(SUPERSET, f"{message}, no dashboard in the first {_MAX_EXPORTS}", fix)
        return
    yield ok(SUPERSET, f"{message}, with dashboards")
    if not settings.url:
        problem = f"{message}: no address, so the host is called {UNKNOWN_HOST} and dashboards have no link"
        yield warning(SUPERSET, problem, f"set {key}.url to the address of Superset")


def _report_problems(message: str, exports: list[Export]) -> Iterator[Diagnosis]:
    problems = [problem for export in exports for problem in export.problems]
    if problems:
        first = problems[0]
        text = f"{message}, but {first.document}: {first.message}"
        yield warning(SUPERSET, text, "correct the document; a run skips it")


def _examine_server(settings: Superset) -> Iterator[Diagnosis]:
    dashboards = client.list_dashboards(settings)
    if not dashboards:
        fix = "give the user a role with access to the dashboards"
        yield warning(SUPERSET, f"{settings}: no dashboard is listed", fix)
        return
    yield ok(SUPERSET, f"{settings}: {len(dashboards)} dashboards are listed")
    export = read_export(client.export_dashboard(settings, dashboards[0]))
    for problem in export.problems[:1]:
        fix = "give the user a role with the permission can_export on Dashboard"
        yield warning(SUPERSET, f"{problem.document}: {problem.message}", fix)


def _fix_for(error: SourceError, key: str) -> str:
    match error:
        case SourceDenied():
            return f"correct {key}.username and its password, or give the user a role that reads dashboards"
        case SourceUnreachable():
            return f"correct {key}.url, and check the network"
    return f"correct {key}.url"


CHECKS = (SourceCheck(SUPERSET, _examine),)
