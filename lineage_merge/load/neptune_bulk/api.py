"""The API of Neptune's bulk loader, as boto3's `neptunedata` speaks it; its errors as ours, in one line.

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
)

COMPLETED = "LOAD_COMPLETED"
_QUEUE_FULL = "queue size limit"
_DENIED = frozenset({"AccessDeniedException", "AccessDenied", "403"})
# Of what was wrong with a load.
MOST_FLAWS = 5
_LONGEST_MESSAGE = 300
# The API lists no more.
_MOST_LISTED = 100


@dataclass(frozen=True, slots=True)
class Loader:
    """Where the loader answers, and how it loads.

    `url`: ``https://host:8182``. `role_arn` is the role with which the cluster reads S3; with
    `iam` requests are signed. `timeout_seconds` is for waiting and loading together.
    """

    url: str
    region: str
    role_arn: str
    iam: Iam | None = None
    parallelism: str = "HIGH"
    timeout_seconds: float = 3600.0


@dataclass(frozen=True, slots=True)
class Status:
    """`codes`: of the load and of its files. `done` of `files` are loaded."""

    code: str
    codes: frozenset[str]
    source: str
    done: int
    files: int


class QueueFull(GraphRejected):
    """Neptune queues no more than 64 loads."""


class Flaw(NamedTuple):
    """What was wrong with one record or file, as a line."""

    code: str
    text: str


def _flaw(told: dict[str, Any]) -> Flaw:
    code = str(told.get("errorCode", "an error"))
    file, record = str(told.get("fileName", "")), told.get("recordNum")
    place = f"{file} record {record}" if record else file
    text = ": ".join(part for part in (place, code, _line(str(told.get("errorMessage", "")))) if part)
    return Flaw(code, text)


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_MESSAGE else line[: _LONGEST_MESSAGE - 3] + "..."


@contextmanager
def opened(loader: Loader) -> Iterator["Api"]:
    """The API; its connections are closed in the end."""
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
    with _translated(loader.url):
        return session.create_client(
            "neptunedata", region_name=loader.region, endpoint_url=loader.url, config=options
        )


@dataclass(frozen=True, slots=True)
class _Credentials:
    """What botocore asks for credentials."""

    iam: Iam

    def load_credentials(self) -> Any:
        """The same that Gremlin connections are signed with."""
        return credentials(self.iam)


@dataclass(slots=True)
class Api:
    """One loader. Everything raises BulkLoadFailed, GraphDenied, GraphUnreachable or `QueueFull`."""

    client: Any
    loader: Loader
    place: str = field(init=False)

    def __post_init__(self) -> None:
        self.place = _shown(self.loader.url)

    def start(self, loader: Loader, folder: str, after: list[str]) -> str:
        """The load's id."""
        with _translated(self.place):
            answer = self.client.start_loader_job(
                # It is a prefix: without the slash it would be those that begin alike, too.
                source=f"{folder.rstrip('/')}/",
                format="csv",
                s3BucketRegion=loader.region,
                iamRoleArn=loader.role_arn,
                # A request that is sent twice, because its answer was lost, goes on with the first.
                mode="AUTO",
                failOnError=True,
                parallelism=loader.parallelism,
                updateSingleCardinalityProperties=True,
                queueRequest=True,
                **({"dependencies": after} if after else {}),
            )
        return str(answer["payload"]["loadId"])

    def status(self, identifier: str) -> Status:
        """How it stands."""
        with _translated(self.place):
            answer = self.client.get_loader_job_status(loadId=identifier)
        payload = answer["payload"]
        overall = payload.get("overallStatus", {})
        files: dict[str, int] = {}
        for each in payload.get("feedCount", ()):
            files |= each
        code = str(overall.get("status", ""))
        return Status(
            code,
            frozenset({code, *files}),
            str(overall.get("fullUri", "")),
            files.get(COMPLETED, 0),
            sum(files.values()),
        )

    def flaws(self, identifier: str) -> list[Flaw]:
        """What was wrong, the first of it."""
        with _translated(self.place):
            answer = self.client.get_loader_job_status(
                loadId=identifier, details=True, errors=True, page=1, errorsPerPage=MOST_FLAWS + 1
            )
        return [_flaw(each) for each in answer["payload"].get("errors", {}).get("errorLogs", ())]

    def cancel(self, identifier: str) -> None:
        """What is loaded stays."""
        with _translated(self.place):
            self.client.cancel_loader_job(loadId=identifier)

    def listed(self) -> list[str]:
        """The loads that the loader remembers."""
        with _translated(self.place):
            answer = self.client.list_loader_jobs(limit=_MOST_LISTED, includeQueuedLoads=True)
        return list(answer["payload"].get("loadIds", ()))


def _shown(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


@contextmanager
def _translated(place: str) -> Iterator[None]:
    """Botocore's errors as ours, in one line that names the loader."""
    from botocore import exceptions as boto

    try:
        yield
    except boto.ClientError as error:
        raise _refusal(place, error) from None
    except (boto.NoCredentialsError, boto.PartialCredentialsError, boto.CredentialRetrievalError):
        raise GraphDenied(f"{place}: no AWS credentials for the bulk loader") from None
    except boto.ParamValidationError as error:
        raise BulkLoadFailed(f"{place}: {_line(str(error))}") from None
    except boto.BotoCoreError as error:
        raise GraphUnreachable(
            f"{place}: no answer from Neptune's bulk loader ({type(error).__name__})"
        ) from None
    except ValueError:
        raise GraphUnreachable(f"{place}: gremlin.bulk.endpoint is not https://host:port") from None


def _refusal(place: str, error: Any) -> GraphError:
    told = error.response.get("Error", {})
    code = str(told.get("Code", ""))
    message = _line(str(error.response.get("detailedMessage") or told.get("Message") or code))
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if status == 403 or code in _DENIED:
        return GraphDenied(f"{place}: the bulk loader refuses these credentials: {message}")
    if _QUEUE_FULL in message.lower():
        return QueueFull(f"{place}: {message}")
    if status >= 500 or status == 429:
        return GraphUnreachable(f"{place}: Neptune's bulk loader: {message} ({code})")
    return BulkLoadFailed(f"{place}: the bulk loader refuses: {message} ({code})")
