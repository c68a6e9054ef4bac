"""Neptune's bulk loader: its API (boto3's `neptunedata`), and loads of several folders one after another.

Each folder is a load of its own, queued behind the others, and depends on the one before it. What
the loader answers is told in one line; what may pass when the difference with the graph is
computed anew is a GraphRejected, everything else a BulkLoadFailed.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from lineage_merge.errors import BulkLoadFailed, GraphDenied, GraphError, GraphRejected, GraphUnreachable
from lineage_merge.load.signing import Iam, credentials
from lineage_merge.progress import Say

_COMPLETED = "LOAD_COMPLETED"
_QUEUED = frozenset({"LOAD_IN_QUEUE", "LOAD_NOT_STARTED"})
_UNDER_WAY = _QUEUED | {"LOAD_IN_PROGRESS"}
# What another writer or a moment's fault did. What was loaded stays, so the next attempt is smaller.
_MAY_PASS = frozenset(
    {
        "LOAD_COMMITTED_W_WRITE_CONFLICTS",
        "LOAD_DATA_DEADLOCK",
        "LOAD_S3_READ_ERROR",
        "FROM_OR_TO_VERTEX_ARE_MISSING",
    }
)
_QUEUE_FULL = "queue size limit"
_DENIED = frozenset({"AccessDeniedException", "AccessDenied", "403"})

_FIRST_PAUSE_SECONDS = 0.25
_LONGEST_PAUSE_SECONDS = 15.0
# A failover takes half a minute; a load goes on without being asked for.
_MOST_LOST_ANSWERS = 8
_SHOWN = 5
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


class Source(NamedTuple):
    """A folder in S3, and what to call what is in it."""

    what: str
    folder: str


def load(loader: Loader, sources: Sequence[Source], say: Say) -> None:
    """Load folders in this order, and wait until all are loaded.

    Cancelled when it takes too long, and by Ctrl-C. Raises BulkLoadFailed, GraphRejected (comparing
    with the graph and loading again may help), GraphUnreachable and GraphDenied.
    """
    waiting = _Waiting(loader.timeout_seconds)
    with _opened(loader) as api:
        started: list[tuple[Source, str]] = []
        try:
            for source in sources:
                identifier = _start(api, loader, source, [started[-1][1]] if started else [], waiting, say)
                started.append((source, identifier))
            for source, identifier in started:
                _await(api, source, identifier, waiting, say)
        except BaseException:
            for _, identifier in reversed(started):
                with suppress(GraphError):
                    api.cancel(identifier)
            raise


def await_earlier(loader: Loader, prefix: str, say: Say) -> None:
    """Wait for loads from below an S3 prefix that somebody started and did not see the end of.

    What became of them does not matter. Raises as `load` does.
    """
    waiting = _Waiting(loader.timeout_seconds)
    with _opened(loader) as api:
        for identifier in api.listed():
            while True:
                try:
                    status = api.status(identifier)
                except BulkLoadFailed:
                    break  # it has been forgotten meanwhile
                if status.code not in _UNDER_WAY or not status.source.startswith(prefix):
                    break
                say("waiting for an earlier bulk load of this DAG")
                waiting.pause(f"the earlier load {identifier}")


@dataclass(frozen=True, slots=True)
class _Status:
    """`codes`: of the load and of its files. `done` of `files` are loaded."""

    code: str
    codes: frozenset[str]
    source: str
    done: int
    files: int


class _QueueFull(GraphRejected):
    """Neptune queues no more than 64 loads."""


class _Waiting:
    """Pauses that grow, until the time is over."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds
        self._pause = _FIRST_PAUSE_SECONDS

    def pause(self, what: str) -> None:
        """Raises BulkLoadFailed where no time is left."""
        left = self._end - time.monotonic()
        if left <= 0:
            limit = f"{self._seconds:g} seconds (gremlin.bulk.timeout_seconds)"
            raise BulkLoadFailed(f"{what} did not end within {limit}")
        time.sleep(min(self._pause, left))
        self._pause = min(self._pause * 1.5, _LONGEST_PAUSE_SECONDS)

    def hurry(self) -> None:
        """Something moved: ask soon again."""
        self._pause = min(self._pause, 1.0)


def _start(api: "_Api", loader: Loader, source: Source, after: list[str], waiting: _Waiting, say: Say) -> str:
    while True:
        try:
            return api.start(loader, source.folder, after)
        except _QueueFull:
            say(f"bulk load of {source.what}: Neptune's queue is full, waiting")
            waiting.pause(
                f"the bulk load of {source.what} found no place in Neptune's queue; waiting for one"
            )


def _await(api: "_Api", source: Source, identifier: str, waiting: _Waiting, say: Say) -> None:
    what = f"bulk load of {source.what}"
    lost = 0
    told = None
    while True:
        try:
            status = api.status(identifier)
        except GraphUnreachable:
            lost += 1
            if lost >= _MOST_LOST_ANSWERS:
                raise
        else:
            lost = 0
            if status.code == _COMPLETED:
                return
            if _is_over(status.code):
                raise _failure(api, what, identifier, status)
            now = (status.code, status.done)
            if now != told:
                told = now
                waiting.hurry()
                say(f"{what}: {_doing(status)}")
        waiting.pause(f"the {what} (load {identifier})")


def _is_over(code: str) -> bool:
    # One that this does not know may come: it is waited for unless it says of itself that it failed.
    return code not in _UNDER_WAY and any(
        sign in code for sign in ("FAILED", "ERROR", "CANCELLED", "CONFLICTS", "DEADLOCK")
    )


def _doing(status: _Status) -> str:
    if status.code in _QUEUED:
        return "queued"
    return f"loading {status.done} of {status.files} files" if status.files else "loading"


def _failure(api: "_Api", what: str, identifier: str, status: _Status) -> GraphError:
    found: list[_Flaw] = []
    with suppress(GraphError):
        found = api.flaws(identifier)
    codes = status.codes | {flaw.code for flaw in found}
    reasons = [flaw.text for flaw in found[:_SHOWN]]
    if len(found) > _SHOWN:
        reasons.append("and more")
    if not reasons:
        reasons = sorted(status.codes - {status.code, _COMPLETED})
    told = f"{what} (load {identifier}) ended with {status.code}"
    message = f"{told}: {'; '.join(reasons)}" if reasons else told
    if any("ACCESS_DENIED" in code for code in codes):
        return BulkLoadFailed(f"{message}. gremlin.bulk.role_arn must be allowed to list and read the files")
    return GraphRejected(message) if codes & _MAY_PASS else BulkLoadFailed(message)


class _Flaw(NamedTuple):
    code: str
    text: str


def _flaw(told: dict[str, Any]) -> _Flaw:
    code = str(told.get("errorCode", "an error"))
    file, record = str(told.get("fileName", "")), told.get("recordNum")
    place = f"{file} record {record}" if record else file
    text = ": ".join(part for part in (place, code, _line(str(told.get("errorMessage", "")))) if part)
    return _Flaw(code, text)


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_MESSAGE else line[: _LONGEST_MESSAGE - 3] + "..."


# The API


@contextmanager
def _opened(loader: Loader) -> Iterator["_Api"]:
    client = _client(loader)
    try:
        yield _Api(client, loader)
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
class _Api:
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

    def status(self, identifier: str) -> _Status:
        """How it stands."""
        with _translated(self.place):
            answer = self.client.get_loader_job_status(loadId=identifier)
        payload = answer["payload"]
        overall = payload.get("overallStatus", {})
        files: dict[str, int] = {}
        for each in payload.get("feedCount", ()):
            files |= each
        code = str(overall.get("status", ""))
        return _Status(
            code,
            frozenset({code, *files}),
            str(overall.get("fullUri", "")),
            files.get(_COMPLETED, 0),
            sum(files.values()),
        )

    def flaws(self, identifier: str) -> list[_Flaw]:
        """What was wrong, the first of it."""
        with _translated(self.place):
            answer = self.client.get_loader_job_status(
                loadId=identifier, details=True, errors=True, page=1, errorsPerPage=_SHOWN + 1
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
        return _QueueFull(f"{place}: {message}")
    if status >= 500 or status == 429:
        return GraphUnreachable(f"{place}: Neptune's bulk loader: {message} ({code})")
    return BulkLoadFailed(f"{place}: the bulk loader refuses: {message} ({code})")
