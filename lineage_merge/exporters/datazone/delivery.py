"""Delivery of run events: posted to a domain, written as JSON lines, or only measured (dry run)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lineage_merge.exporters.datazone.assets import Names
from lineage_merge.exporters.datazone.client import Domain, open_domain
from lineage_merge.exporters.datazone.run_events import run_events
from lineage_merge.exporters.datazone.splitting import encode, split
from lineage_merge.exporters.exporter import Export, ExportResult, open_text
from lineage_merge.model.errors import ExportDenied, ExportError, ExportUnreachable

_SHOWN_FAILURES = 3
_Send = Callable[[bytes], None]


def deliver(export: Export) -> ExportResult:
    """Export, and return counts and the datasets without an asset.

    Without a domain no request is sent, and nothing is known of assets. Raises `ConfigError`,
    `ExportUnreachable` and `ExportDenied` at once; `ExportError` after all others were sent, if some events
    were rejected.
    """
    domain_id = export.settings.get("domain")
    if domain_id is None:
        return _deliver(export, None)
    with open_domain(domain_id, export.settings.get("region")) as domain:
        return _deliver(export, domain)


def _deliver(export: Export, domain: Domain | None) -> ExportResult:
    tables = None
    if domain and export.settings.get("assets", True):
        export.on_progress("reading the assets of DataZone")
        tables = list(domain.tables())
    names = Names(export.settings.get("namespaces", {}), tables)
    counts = {"events": 0, "bytes": 0, "bytes of the largest event": 0, "split events": 0}
    failures: list[str] = []
    with _destination(export, domain) as (destination, send):
        for event in run_events(export):
            try:
                parts = split(names.rename(event))
                counts["split events"] += len(parts) > 1
                for body in map(encode, parts):
                    send(body)
                    counts["events"] += 1
                    counts["bytes"] += len(body)
                    counts["bytes of the largest event"] = max(
                        counts["bytes of the largest event"], len(body)
                    )
                    export.on_progress(f"exporting to DataZone ({counts['events']:,} events)")
            except (ExportDenied, ExportUnreachable) as error:
                sent = f"{counts['events']:,} events were accepted before"
                raise type(error)(f"{error.message} ({sent}; repeat the export)") from None
            except ExportError as error:
                failures.append(f"{event['job']['name']}: {error.message}")
    if failures:
        shown = "; ".join(failures[:_SHOWN_FAILURES])
        more = f"; and {len(failures) - _SHOWN_FAILURES} more" if len(failures) > _SHOWN_FAILURES else ""
        accepted = f"{len(failures):,} events failed, {counts['events']:,} were accepted"
        raise ExportError(f"{accepted}; repeat the export when corrected: {shown}{more}")
    counts["datasets"] = len(names.datasets)
    lists: dict[str, tuple[str, ...]] = {}
    if tables is not None:
        lists["datasets without an asset"] = tuple(sorted(map(" ".join, names.missing)))
        lists["datasets with several assets"] = tuple(sorted(map(" ".join, names.ambiguous)))
    return ExportResult(destination, counts, lists)


@contextmanager
def _destination(export: Export, domain: Domain | None) -> Iterator[tuple[str, _Send]]:
    """Yield the destination, and what sends an event there."""
    if export.dry_run:
        yield "dry run, nothing was sent", lambda _: None
    elif domain and export.out is None:
        yield export.settings["domain"], domain.post
    else:
        with open_text(export.out) as write_text:
            yield export.out or "", lambda body: write_text(f"{body.decode()}\n")
