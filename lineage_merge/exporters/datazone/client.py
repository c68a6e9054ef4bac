"""DataZone's API: one client, which waits while it is throttled, and its errors as those of exports."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from lineage_merge.exporters.datazone.assets import Table, parse_arn
from lineage_merge.exporters.exporter import errors_only
from lineage_merge.infra.aws import API_DENIED, LOG_IN, boto_client
from lineage_merge.model.errors import ConfigError, ExportDenied, ExportError, ExportUnreachable, one_line

# The most that a page may have.
_PAGE = 50
_ATTEMPTS = 8
# More failed events are not counted.
_MOST_FAILURES = 1_000
# What a policy of the role, or its membership in the domain, allows.
_NOT_ALLOWED = frozenset({"AccessDeniedException", "UnauthorizedException"})
# Nothing that is sent next can succeed.
_UNAVAILABLE = frozenset(
    {
        "InternalServerException",
        "ResourceNotFoundException",  # of the domain
        "ServiceQuotaExceededException",
        "ThrottlingException",
    }
)


@contextmanager
def open_domain(domain: str, region: str | None) -> "Iterator[Domain]":
    """Open a domain, without a request. Raises `ConfigError` if no region is known."""
    from botocore import exceptions as boto

    # Debug lines of botocore contain what is sent.
    with errors_only("boto3", "botocore", "urllib3"):
        try:
            client = boto_client(
                "datazone", read_timeout=60, attempts=_ATTEMPTS, mode="adaptive", region_name=region
            )
        except boto.NoRegionError:
            problem = "not set, and the AWS configuration has no region"
            raise ConfigError("exporters.datazone.region", problem) from None
        except boto.ProfileNotFound:
            raise ExportDenied(f"DataZone {domain}: no such AWS profile") from None
        try:
            yield Domain(client, domain)
        finally:
            client.close()


class Domain:
    """A domain. All methods raise `ExportUnreachable`, `ExportDenied` or `ExportError`."""

    def __init__(self, client: Any, domain: str) -> None:
        self._client = client
        self._domain = domain

    def post(self, body: bytes) -> None:
        """Post an event. The token is a hash of it, so that a repetition has no effect."""
        token = hashlib.sha256(body).hexdigest()
        with self._errors("datazone:PostLineageEvent"):
            self._client.post_lineage_event(domainIdentifier=self._domain, event=body, clientToken=token)

    def tables(self) -> Iterator[Table]:
        """Yield the tables and views of the assets that the caller may see."""
        pages = self._client.get_paginator("search").paginate(
            domainIdentifier=self._domain, searchScope="ASSET", PaginationConfig={"PageSize": _PAGE}
        )
        with self._errors("datazone:Search"):
            for page in pages:
                for item in page.get("items", ()):
                    asset = item.get("assetItem", {})
                    identifier = asset.get("externalIdentifier", "")
                    if table := parse_arn(identifier, asset.get("owningProjectId", "")):
                        yield table

    def list_failed_jobs(self, since: datetime) -> list[str]:
        """Return the jobs of events since a time that DataZone could not process, newest first."""
        pages = self._client.get_paginator("list_lineage_events").paginate(
            domainIdentifier=self._domain,
            processingStatus="FAILED",
            sortOrder="DESCENDING",
            timestampAfter=since,
            PaginationConfig={"PageSize": _PAGE, "MaxItems": _MOST_FAILURES},
        )
        with self._errors("datazone:ListLineageEvents"):
            items = [item for page in pages for item in page.get("items", ())]
        summaries = [
            item.get("eventSummary", {}).get("openLineageRunEventSummary", {})
            for item in items
            if item.get("createdAt", since) >= since
        ]
        return [summary.get("job", {}).get("name", "?") for summary in summaries]

    @contextmanager
    def _errors(self, action: str) -> Iterator[None]:
        from botocore import exceptions as boto

        name = f"DataZone {self._domain}"
        try:
            yield
        except boto.ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", ""))
            message = one_line(str(error.response.get("Error", {}).get("Message", "")), 200)
            if code in _NOT_ALLOWED:
                raise ExportDenied(f"{name}: {code}: allow {action} (deploy/iam)") from None
            if code in API_DENIED:
                raise ExportDenied(f"{name}: {code}: {LOG_IN}") from None
            kind = ExportUnreachable if code in _UNAVAILABLE else ExportError
            raise kind(f"{name}: {code}: {message}") from None
        except (boto.NoCredentialsError, boto.PartialCredentialsError, boto.CredentialRetrievalError):
            raise ExportDenied(f"{name}: no AWS credentials found: {LOG_IN}") from None
        except boto.BotoCoreError as error:
            raise ExportUnreachable(f"{name}: no answer ({type(error).__name__})") from None
