"""Secrets of AWS Secrets Manager, and errors of boto3 as errors of this package, with what to do."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

from lineage_merge.model.errors import (
    ConfigError,
    SourceDenied,
    SourceError,
    SourceMissing,
    SourceUnreachable,
    did_you_mean,
)

# Lists the buckets that the credentials may list.
Buckets = Callable[[], list[str]]

# Codes by which services with a JSON API reject credentials; some have more of their own.
API_DENIED = frozenset(
    {
        "AccessDeniedException",
        "ExpiredTokenException",
        "InvalidSignatureException",
        "UnrecognizedClientException",
    }
)
_DENIED = API_DENIED | {
    "403",
    "AccessDenied",
    "AllAccessDisabled",
    "DecryptionFailure",
    "ExpiredToken",
    "Forbidden",
    "InvalidAccessKeyId",
    "InvalidClientTokenId",
    "InvalidToken",
    "RequestTimeTooSkewed",
    "SignatureDoesNotMatch",
}
# The one remedy of missing credentials, wherever they are needed.
LOG_IN = "attach a role, run aws sso login, or set AWS_PROFILE"
_REMEDIES = {
    "AccessDenied": "allow s3:GetObject and s3:ListBucket",
    "ExpiredToken": "log in again",
    "InvalidAccessKeyId": "check AWS_PROFILE and AWS_ACCESS_KEY_ID",
    "SignatureDoesNotMatch": "check AWS_SECRET_ACCESS_KEY",
    "RequestTimeTooSkewed": "correct the clock of this machine",
}
_OTHER_REGION = frozenset(
    {"301", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "PermanentRedirect"}
)


def boto_client(
    service: str,
    *,
    read_timeout: int,
    attempts: int = 3,
    mode: Literal["standard", "adaptive"] = "standard",
    **options: Any,
) -> Any:
    """Return a client with a connection timeout of 5 seconds.

    `mode`: an adaptive client calls less often while the service throttles it.
    """
    import boto3
    from botocore.config import Config

    retries: Any = {"mode": mode, "total_max_attempts": attempts}
    config = Config(connect_timeout=5, read_timeout=read_timeout, retries=retries)
    return boto3.client(service, config=config, **options)  # type: ignore[call-overload]


def s3_error(name: str, error: Exception, buckets: Buckets) -> SourceError:
    """Return the error of this package for one of boto3; `name` is the location in messages."""
    from boto3.exceptions import S3UploadFailedError
    from botocore import exceptions as boto

    match error:
        case S3UploadFailedError():
            # The error code is only in its text.
            code = re.search(r"\((\w+)\) when calling", str(error))
            return s3_answer(name, code[1] if code else "", buckets)
        case boto.ClientError():
            code_of_answer = str(error.response.get("Error", {}).get("Code", ""))
            return s3_answer(name, code_of_answer, buckets, error.response)
        case boto.NoCredentialsError() | boto.PartialCredentialsError():
            return _report_denied(f"{name}: no AWS credentials found", LOG_IN)
        case boto.CredentialRetrievalError() | boto.SSOError() | boto.TokenRetrievalError():
            return _report_denied(f"{name}: no AWS credentials", "log in again")
        case boto.ProfileNotFound():
            return _report_denied(f"{name}: no such AWS profile", "correct AWS_PROFILE")
        case boto.ParamValidationError():
            return SourceMissing(f"{name}: not a valid bucket and object name")
        case boto.EndpointConnectionError() | boto.ConnectTimeoutError() | boto.ProxyConnectionError():
            return SourceUnreachable(f"{name}: no connection to S3")
        case boto.SSLError():
            return SourceUnreachable(f"{name}: no connection to S3 (its certificate is not trusted)")
        case boto.BotoCoreError():
            return SourceUnreachable(f"{name}: no answer from S3 ({type(error).__name__})")
        case ValueError():
            return SourceUnreachable(f"{name}: AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL is not a URL")
    return SourceError(f"{name}: {type(error).__name__}")


def s3_answer(
    name: str, code: str, buckets: Buckets, response: Mapping[str, Any] | None = None
) -> SourceError:
    """Return the error for an error code of S3."""
    if code in ("NoSuchBucket", "InvalidBucketName"):
        bucket = name.partition("://")[2].partition("/")[0]
        similar = did_you_mean(bucket, buckets())
        return SourceMissing(f"{name}: no such bucket{similar}", "correct the bucket" if similar else "")
    if code in ("NoSuchKey", "404"):
        return SourceMissing(f"{name}: no such object")
    if code in _DENIED:
        return _report_denied(f"{name}: S3 rejects these credentials ({code})", _REMEDIES.get(code, ""))
    if code in _OTHER_REGION:
        headers = (response or {}).get("ResponseMetadata", {}).get("HTTPHeaders", {})
        region = headers.get("x-amz-bucket-region") or (response or {}).get("Error", {}).get("Region")
        remedy = f"set AWS_REGION={region or '...'}"
        return SourceError(f"{name}: the bucket is in another region: {remedy}", remedy)
    return SourceError(f"{name}: S3 answers {code}")


def _report_denied(problem: str, remedy: str) -> SourceDenied:
    return SourceDenied(f"{problem}: {remedy}" if remedy else problem, remedy)


def secret(reference: str, setting: str) -> str:
    """Return the text of a secret; `setting` is the configuration key of the reference, for messages.

    `reference`: the name or the ARN of a secret. With ``#key`` it refers to one value in a JSON secret, such
    as those of databases and of Airflow's connections.

    Raises `ConfigError` for a wrong ``#key``, `SourceError` if the secret cannot be read. Messages do not
    contain the reference: it may be a password by mistake.
    """
    name, _, key = reference.partition("#")
    text = _text(name, setting)
    if not key:
        return text
    try:
        secret = json.loads(text)
    except ValueError:
        raise ConfigError(setting, "the secret is not JSON, so it has no #key") from None
    value = secret.get(key) if isinstance(secret, dict) else None
    if not isinstance(value, str):
        raise ConfigError(setting, f"the secret has no text under {key!r}")
    return value


def _text(name: str, setting: str) -> str:
    from botocore import exceptions as boto

    # An ARN contains the region; otherwise the default chain provides it.
    parts = name.split(":")
    region: dict[str, Any] = {"region_name": parts[3]} if len(parts) > 6 else {}
    try:
        answer = boto_client("secretsmanager", read_timeout=20, **region).get_secret_value(SecretId=name)
    except boto.ClientError as error:
        code = str(error.response.get("Error", {}).get("Code", ""))
        if code == "ResourceNotFoundException":
            raise SourceMissing(
                f"{setting}: no such secret in Secrets Manager of this account and region"
            ) from None
        if code in _DENIED:
            raise SourceDenied(f"{setting}: Secrets Manager rejects these credentials ({code})") from None
        raise SourceError(f"{setting}: Secrets Manager answers {code}") from None
    except (boto.NoCredentialsError, boto.PartialCredentialsError, boto.CredentialRetrievalError):
        raise SourceDenied(f"{setting}: no AWS credentials found") from None
    except boto.BotoCoreError as error:
        problem = f"no answer from Secrets Manager ({type(error).__name__})"
        raise SourceUnreachable(f"{setting}: {problem}") from None
    if "SecretString" not in answer:
        raise SourceError(f"{setting}: the secret is binary, not text")
    return str(answer["SecretString"])
