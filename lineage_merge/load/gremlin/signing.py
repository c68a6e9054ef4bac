"""AWS signatures (Signature Version 4) for connections to Neptune with IAM authentication.

Only the handshake of a connection is signed. A signature is valid for five minutes, so each connection gets a
new one from current credentials. Credentials are not sent between processes: each Spark worker uses the
default AWS credential chain.
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
    """Region and role for signing connections ("": the credentials of this process)."""

    region: str
    role_arn: str = ""


def sign_headers(url: str, iam: Iam) -> dict[str, str]:
    """Return the signed headers of a handshake with `url` (``wss://...``).

    Raises GraphDenied (no credentials, or the role cannot be assumed) and GraphUnreachable (the credential
    service is unavailable).
    """
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.exceptions import (
        ClientError,
        CredentialRetrievalError,
        HTTPClientError,
        PartialCredentialsError,
    )
    from botocore.exceptions import ConnectionError as NoConnection

    logger = logging.getLogger("botocore.credentials")
    if logger.level == logging.NOTSET:
        # It logs a stack trace if credentials cannot be refreshed. The raised error has the message.
        logger.setLevel(logging.ERROR)
    # The errors' texts are not used: that of a credential process contains its output.
    try:
        frozen = credentials(iam).get_frozen_credentials()
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "an error")
        raise GraphDenied(f"gremlin.role_arn: cannot assume {iam.role_arn or 'the role'}: {code}") from None
    except (NoConnection, HTTPClientError) as error:
        raise GraphUnreachable(f"no AWS credentials: {type(error).__name__}") from None
    except (CredentialRetrievalError, PartialCredentialsError) as error:
        raise GraphDenied(f"no AWS credentials: the provider {error.kwargs['provider']} failed") from None
    except GraphDenied:
        raise
    except Exception as error:  # noqa: BLE001 # botocore's errors have no common base class
        raise GraphDenied(f"no AWS credentials: {type(error).__name__}") from None
    request = AWSRequest("GET", _as_https(url))
    SigV4Auth(frozen, SERVICE, iam.region).add_auth(request)
    return dict(request.headers.items())


def _as_https(url: str) -> str:
    """Return the URL with a scheme whose default port botocore omits from `Host`."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(scheme={"ws": "http", "wss": "https"}.get(parts.scheme, parts.scheme)))


def credentials(iam: Iam) -> "Credentials":
    """Return the signing credentials, for clients that sign requests themselves. Raises GraphDenied."""
    if iam.role_arn:
        return _assume_role(iam)
    cached = _REFRESHABLE.get(iam)
    if cached is not None:
        return cached
    from botocore.credentials import RefreshableCredentials

    credentials = _find_credentials(iam.region)
    if isinstance(credentials, RefreshableCredentials):
        # They refresh themselves, and reading them again costs a request. Others (environment variables,
        # files) may change before the next connection, and are read again.
        _REFRESHABLE[iam] = credentials
    return credentials


_REFRESHABLE: dict[Iam, "Credentials"] = {}


def _session(region: str) -> Any:
    from botocore.session import Session

    session = Session()
    session.set_config_variable("region", region)
    return session


def _find_credentials(region: str) -> "Credentials":
    credentials: Credentials | None = _session(region).get_credentials()
    if credentials is None:
        raise GraphDenied(
            "no AWS credentials: gremlin.iam_auth requires a role, a profile or AWS_ACCESS_KEY_ID and"
            " AWS_SECRET_ACCESS_KEY"
        )
    return credentials


@lru_cache
def _assume_role(iam: Iam) -> "Credentials":
    """Return self-refreshing credentials of the role, from the chain's current credentials."""
    from botocore.credentials import DeferredRefreshableCredentials

    return DeferredRefreshableCredentials(refresh_using=lambda: _request_role(iam), method="assume-role")


def _request_role(iam: Iam) -> dict[str, str]:
    from botocore.config import Config

    limits = Config(
        connect_timeout=_CONNECT_SECONDS, read_timeout=_READ_SECONDS, retries={"total_max_attempts": 2}
    )
    sts = _session(iam.region).create_client("sts", config=limits)
    try:
        response = sts.assume_role(RoleArn=iam.role_arn, RoleSessionName=_SESSION_NAME)["Credentials"]
    finally:
        sts.close()
    return {
        "access_key": response["AccessKeyId"],
        "secret_key": response["SecretAccessKey"],
        "token": response["SessionToken"],
        "expiry_time": response["Expiration"].isoformat(),
    }


def region_of_chain() -> str:
    """Return the region of the default AWS chain or of ``AWS_REGION`` (Glue, Lambda); "" if unknown."""
    from botocore.exceptions import BotoCoreError
    from botocore.session import Session

    try:
        region: str | None = Session().get_config_variable("region")
    except BotoCoreError:  # missing profile
        region = None
    return region or os.environ.get("AWS_REGION", "")
