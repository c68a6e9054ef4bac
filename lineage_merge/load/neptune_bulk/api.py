"""Client of the API of Neptune's bulk loader (boto3's `neptunedata`), with one-line errors.

https://docs.aws.amazon.com/neptune/latest/userguide/load-api-reference.html
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from lineage_merge.load.gremlin.signing import Iam, credentials
from lineage_merge.model.errors import (
    BulkLoadFailed,
    GraphDenied,
    GraphError,
    GraphRejected,
    GraphUnreachable,
    one_line,
)

COMPLETED = "LOAD_COMPLETED"
_QUEUE_FULL = "queue size limit"
_DENIED = frozenset({"AccessDeniedException", "AccessDenied", "403"})
# Maximum number of reported errors of a load.
MAX_ERRORS = 5
_MAX_MESSAGE_LENGTH = 300
# Limit of the API.
_MAX_LISTED = 100


@dataclass(frozen=True, slots=True)
class Loader:
    """Address and settings of the bulk loader.

    `url`: ``https://host:8182``. `role_arn`: role with which the cluster reads S3. `iam`: sign requests.
    `timeout_seconds`: limit for queueing and loading together.
    """

    url: str
    region: str
    role_arn: str
    iam: Iam | None = None
    parallelism: str = "HIGH"
    timeout_seconds: float = 3600.0


@dataclass(frozen=True, slots=True)
class Status:
    """Status of a load. `codes`: those of the load and of its files. `done` of `files` are loaded."""

    code: str
    codes: frozenset[str]
    source: str
    done: int
    files: int


class QueueFull(GraphRejected):
    """Neptune's queue is full: it has at most 64 loads."""


class LoadError(NamedTuple):
    """An error of one record or file, as one line."""

    code: str
    text: str


def _load_error(log: dict[str, Any]) -> LoadError:
    code = str(log.get("errorCode", "an error"))
    file, record = str(log.get("fileName", "")), log.get("recordNum")
    location = f"{file} record {record}" if record else file
    message = one_line(str(log.get("errorMessage", "")), _MAX_MESSAGE_LENGTH)
    text = ": ".join(part for part in (location, code, message) if part)
    return LoadError(code, text)


@contextmanager
def open_api(loader: Loader) -> Iterator["Api"]:
    """Provide the API; its connections are closed at the end."""
    client = _client(loader)
    try:
        yield Api(client, loader)
    finally:
        client.close()


def _client(loader: Loader) -> Any:
    from botocore import UNSIGNED
    from botocore.config import Config
    from botocore.session import Session

    session = Session()
    if loader.iam:
        session.register_component("credential_provider", _Credentials(loader.iam))
    options = Config(
        connect_timeout=5,
        read_timeout=60,
        retries={"mode": "standard", "total_max_attempts": 4},
        signature_version=None if loader.iam else UNSIGNED,
    )
    with _translate_errors(loader.url):
        return session.create_client(
            "neptunedata", region_name=loader.region, endpoint_url=loader.url, config=options
        )


@dataclass(frozen=True, slots=True)
class _Credentials:
    """Credential provider for botocore."""

    iam: Iam

    def load_credentials(self) -> Any:
        """Return the credentials with which Gremlin connections are signed."""
        return credentials(self.iam)


@dataclass(slots=True)
class Api:
    """API of one loader. All methods raise BulkLoadFailed, GraphDenied, GraphUnreachable or `QueueFull`."""

    client: Any
    loader: Loader
    address: str = field(init=False)

    def __post_init__(self) -> None:
        self.address = _address(self.loader.url)

    def start(self, folder: str, after: list[str]) -> str:
        """Start a load; returns its id."""
        payload = self._call(
            "start_loader_job",
            # A prefix: without the slash it would match other folders too.
            source=f"{folder.rstrip('/')}/",
            format="csv",
            s3BucketRegion=self.loader.region,
            iamRoleArn=self.loader.role_arn,
            # A retried request, whose response was lost, continues the load of the first.
            mode="AUTO",
            failOnError=True,
            parallelism=self.loader.parallelism,
            updateSingleCardinalityProperties=True,
            queueRequest=True,
            **({"dependencies": after} if after else {}),
        )
        return str(payload["loadId"])

    def status(self, identifier: str) -> Status:
        """Return the status of a load."""
        payload = self._call("get_loader_job_status", loadId=identifier)
        overall = payload.get("overallStatus", {})
        files: dict[str, int] = {}
        for counts in payload.get("feedCount", ()):
            files |= counts
        code, source = str(overall.get("status", "")), str(overall.get("fullUri", ""))
        done, number = files.get(COMPLETED, 0), sum(files.values())
        return Status(code, frozenset({code, *files}), source, done, number)

    def errors(self, identifier: str) -> list[LoadError]:
        """Return the first errors of a load."""
        payload = self._call(
            "get_loader_job_status",
            loadId=identifier,
            details=True,
            errors=True,
            page=1,
            errorsPerPage=MAX_ERRORS + 1,
        )
        return [_load_error(log) for log in payload.get("errors", {}).get("errorLogs", ())]

    def cancel(self, identifier: str) -> None:
        """Cancel a load; elements already loaded stay."""
        self._call("cancel_loader_job", loadId=identifier)

    def load_ids(self) -> list[str]:
        """Return the ids of the loads that the loader lists."""
        payload = self._call("list_loader_jobs", limit=_MAX_LISTED, includeQueuedLoads=True)
        return list(payload.get("loadIds", ()))

    def _call(self, name: str, **arguments: Any) -> dict[str, Any]:
        with _translate_errors(self.address):
            response: dict[str, Any] = getattr(self.client, name)(**arguments)
        payload: dict[str, Any] = response.get("payload", {})
        return payload


def _address(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


@contextmanager
def _translate_errors(address: str) -> Iterator[None]:
    """Translate botocore's errors to one-line errors that name the loader."""
    from botocore import exceptions as boto

    try:
        yield
    except boto.ClientError as error:
        raise _rejection(address, error) from None
    except (boto.NoCredentialsError, boto.PartialCredentialsError, boto.CredentialRetrievalError):
        raise GraphDenied(f"{address}: no AWS credentials for the bulk loader") from None
    except boto.ParamValidationError as error:
        raise BulkLoadFailed(f"{address}: {one_line(str(error), _MAX_MESSAGE_LENGTH)}") from None
    except boto.BotoCoreError as error:
        raise GraphUnreachable(
            f"{address}: no response from Neptune's bulk loader ({type(error).__name__})"
        ) from None
    except ValueError:
        raise GraphUnreachable(f"{address}: gremlin.bulk.endpoint is not https://host:port") from None


def _rejection(address: str, error: Any) -> GraphError:
    details = error.response.get("Error", {})
    code = str(details.get("Code", ""))
    text = error.response.get("detailedMessage") or details.get("Message") or code
    message = one_line(str(text), _MAX_MESSAGE_LENGTH)
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if status == 403 or code in _DENIED:
        return GraphDenied(f"{address}: the bulk loader refuses these credentials: {message}")
    if _QUEUE_FULL in message.lower():
        return QueueFull(f"{address}: {message}")
    if status >= 500 or status == 429:
        return GraphUnreachable(f"{address}: Neptune's bulk loader: {message} ({code})")
    return BulkLoadFailed(f"{address}: the bulk loader rejected the request: {message} ({code})")
