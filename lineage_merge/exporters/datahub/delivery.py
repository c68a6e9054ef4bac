"""Delivery of proposals: to DataHub's metadata service (GMS) in batches, or to a file for its file source.

The file is a JSON array as the library's own writer makes it, which holds all proposals in memory.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import requests
from datahub.configuration.common import ConfigurationError, OperationalError
from datahub.emitter.rest_emitter import DatahubRestEmitter

from lineage_merge.exporters import datahub
from lineage_merge.exporters.datahub.proposals import Proposal, ProposalCounter
from lineage_merge.exporters.exporter import Export, errors_only, open_text, read_token
from lineage_merge.infra.batches import batched
from lineage_merge.model.errors import ExportDenied, ExportError, ExportUnreachable, one_line

_AT_ONCE = 100
_CONNECT_SECONDS = 10.0
# A write waits for database and search index.
_ANSWER_SECONDS = 60.0
_DENIED = (401, 403)


def emit(export: Export, proposals: Iterable[Proposal]) -> dict[str, int]:
    """Send proposals in order and return counts. A few retries while the server is busy or restarts.

    Retries are safe: each proposal replaces an aspect or adds a tag. Raises
    `ExportUnreachable`, `ExportDenied`, `ExportError`.
    """
    url = (export.url or "").rstrip("/")
    secret = read_token(export.settings, datahub.EXPORTER.token_variable, datahub.EXPORTER.name) or None
    counter = ProposalCounter()
    with errors_only("datahub", "urllib3"), _export_errors(url):
        _check_server(url, secret)
        emitter = _emitter(url, secret)
        try:
            # Check that it is GMS: DataHub's frontend answers every request with a page.
            emitter.test_connection()
            for batch in batched(proposals, _AT_ONCE):
                emitter.emit_mcps(batch)
                for proposal in batch:
                    counter.add(proposal)
                export.on_progress(f"sending to DataHub ({counter.counts['aspects']:,} aspects)")
        finally:
            emitter.close()
    return counter.counts


def _check_server(url: str, secret: str | None) -> None:
    """Send one request without retries, so that a wrong address fails soon."""
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    answer = requests.get(f"{url}/config", headers=headers, timeout=(_CONNECT_SECONDS, _ANSWER_SECONDS))
    if answer.status_code in _DENIED:
        raise ExportDenied(f"DataHub at {url} rejects the token (status {answer.status_code})")


def _emitter(url: str, secret: str | None) -> DatahubRestEmitter:
    return DatahubRestEmitter(
        url, token=secret, connect_timeout_sec=_CONNECT_SECONDS, read_timeout_sec=_ANSWER_SECONDS
    )


@contextmanager
def _export_errors(url: str) -> Iterator[None]:
    """Translate errors of the library, without stack traces and requests."""
    try:
        yield
    except OperationalError as error:
        raise _export_error(url, error, error.message) from None
    except ConfigurationError as error:
        # The address is not GMS; only the first line of the message is useful.
        raise ExportError(f"DataHub at {url}: {str(error).splitlines()[0]}") from None
    except requests.RequestException as error:
        raise _export_error(url, error, type(error).__name__) from None


def _export_error(url: str, error: Exception, message: str) -> ExportError:
    cause = error.__cause__ if isinstance(error, OperationalError) else error
    answer = cause.response if isinstance(cause, requests.RequestException) else None
    if answer is None:
        return ExportUnreachable(f"DataHub at {url}: no connection ({type(cause).__name__})")
    if answer.status_code in _DENIED:
        return ExportDenied(f"DataHub at {url} rejects the token (status {answer.status_code})")
    return ExportError(f"DataHub at {url}: status {answer.status_code}: {one_line(message)}")


def write(destination: str | None, proposals: Iterable[Proposal]) -> dict[str, int]:
    """Write proposals (None: to standard output) and return counts. Raises the errors of `open_text`."""
    counter = ProposalCounter()
    separator = "[\n"
    with open_text(destination) as write_text:
        for proposal in proposals:
            write_text(separator + json.dumps(_as_json(proposal)))
            counter.add(proposal)
            separator = ",\n"
        write_text("\n]\n" if separator == ",\n" else "[]\n")
    return counter.counts


def _as_json(proposal: Proposal) -> dict[str, Any]:
    from datahub.emitter.mcp import MetadataChangeProposalWrapper

    if isinstance(proposal, MetadataChangeProposalWrapper):
        return dict(proposal.to_obj(simplified_structure=True))
    written: dict[str, Any] = proposal.to_obj()
    if proposal.aspect:  # a patch: the file source expects plain JSON
        written["aspect"] = {"json": json.loads(proposal.aspect.value)}
    return written
