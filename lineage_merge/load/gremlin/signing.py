"""Signatures of AWS (Signature Version 4) for connections to Neptune with IAM authentication.

Only the handshake of a connection is signed. A signature is good for five minutes, so each
connection gets its own, from credentials as they are then. Credentials stay in the process that
found them: each of Spark's workers asks the usual AWS chain by itself.
"""

import logging
import os
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from lineage_merge.model.errors import GraphDenied, GraphUnreachable

if TYPE_CHECKING:
    from botocore.credentials import Credentials

SERVICE = "neptune-db"
_SESSION_NAME = "lineage-merge"
_CONNECT_SECONDS = 5
_READ_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Iam:
    """How connections are signed: for which region, and as which role ("": as whoever runs this)."""

    region: str
    role_arn: str = ""


def signed_headers(url: str, iam: Iam) -> dict[str, str]:
    """The headers of a handshake with `url` (``wss://...``), signed now.

    Raises GraphDenied (no credentials, or the role may not be assumed) and GraphUnreachable (the
    service that hands credentials out does not answer).
    """
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.exceptions import (
        ClientError,
        CredentialRetrievalError,
        HTTPClientError,
        PartialCredentialsError,
    )
    from botocore.exceptions import (
        ConnectionError as NoConnection,
    )

    logger = logging.getLogger("botocore.credentials")
    if logger.level == logging.NOTSET:
        # Where credentials cannot be renewed it logs the stack trace. The error says it.
        logger.setLevel(logging.ERROR)
    # None of these errors' texts is told whole: that of a credential process holds its output.
    try:
        frozen = _credentials(iam).get_frozen_credentials()
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "an error")
        raise GraphDenied(f"gremlin.role_arn: {iam.role_arn or 'the role'} is not assumed: {code}") from None
    except (NoConnection, HTTPClientError) as error:
        raise GraphUnreachable(f"no AWS credentials: {type(error).__name__}") from None
    except (CredentialRetrievalError, PartialCredentialsError) as error:
        raise GraphDenied(f"no AWS credentials: the provider {error.kwargs['provider']} gives none") from None
    except GraphDenied:
        raise
    except Exception as error:  # noqa: BLE001 # of botocore's many, some have no parent in common
        raise GraphDenied(f"no AWS credentials: {type(error).__name__}") from None
    request = AWSRequest("GET", _as_https(url))
    SigV4Auth(frozen, SERVICE, iam.region).add_auth(request)
    return dict(request.headers.items())


def _as_https(url: str) -> str:
    """The URL with a scheme of which botocore knows the default port: `Host` has none then."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(scheme={"ws": "http", "wss": "https"}.get(parts.scheme, parts.scheme)))


def credentials(iam: Iam) -> "Credentials":
    """Those that connections are signed with, for clients that sign by themselves. Raises GraphDenied."""
    return _credentials(iam)


def _credentials(iam: Iam) -> "Credentials":
    if iam.role_arn:
        return _of_role(iam)
    kept = _REFRESHED.get(iam)
    if kept is not None:
        return kept
    from botocore.credentials import RefreshableCredentials

    found = _of_chain(iam.region)
    if isinstance(found, RefreshableCredentials):
        # They renew themselves, and asking for them anew costs a request. Others (a variable, a
        # file) may have been replaced when the next connection is made, and are read again.
        _REFRESHED[iam] = found
    return found


_REFRESHED: dict[Iam, "Credentials"] = {}


def _session(region: str) -> Any:
    from botocore.session import Session

    session = Session()
    session.set_config_variable("region", region)
    return session


def _of_chain(region: str) -> "Credentials":
    found: Credentials | None = _session(region).get_credentials()
    if found is None:
        raise GraphDenied(
            "no AWS credentials: gremlin.iam_auth needs a role, a profile or AWS_ACCESS_KEY_ID and"
            " AWS_SECRET_ACCESS_KEY"
        )
    return found


@lru_cache
def _of_role(iam: Iam) -> "Credentials":
    """Credentials of the role, which renew themselves, from whatever the chain gives at that time."""
    from botocore.credentials import DeferredRefreshableCredentials

    return DeferredRefreshableCredentials(refresh_using=lambda: _assumed(iam), method="assume-role")


def _assumed(iam: Iam) -> dict[str, str]:
    from botocore.config import Config

    limits = Config(
        connect_timeout=_CONNECT_SECONDS, read_timeout=_READ_SECONDS, retries={"total_max_attempts": 2}
    )
    sts = _session(iam.region).create_client("sts", config=limits)
    try:
        answer = sts.assume_role(RoleArn=iam.role_arn, RoleSessionName=_SESSION_NAME)["Credentials"]
    finally:
        sts.close()
    return {
        "access_key": answer["AccessKeyId"],
        "secret_key": answer["SecretAccessKey"],
        "token": answer["SessionToken"],
        "expiry_time": answer["Expiration"].isoformat(),
    }


def region_of_chain() -> str:
    """The region of the usual AWS chain (``AWS_REGION`` too, as on Glue and Lambda); "" where it has none."""
    from botocore.exceptions import BotoCoreError
    from botocore.session import Session

    try:
        found: str | None = Session().get_config_variable("region")
    except BotoCoreError:  # a profile that is not there
        found = None
    return found or os.environ.get("AWS_REGION", "")
