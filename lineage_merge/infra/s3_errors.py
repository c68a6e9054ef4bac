"""Translation of boto3's errors about S3 to errors of this package, with what to do."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from lineage_merge.model.errors import (
    SourceDenied,
    SourceError,
    SourceMissing,
    SourceUnreachable,
    did_you_mean,
)

# Lists the buckets that the credentials may list.
Buckets = Callable[[], list[str]]

_DENIED = frozenset(
    {
        "403",
        "AccessDenied",
        "AllAccessDisabled",
        "ExpiredToken",
        "Forbidden",
        "InvalidAccessKeyId",
        "InvalidToken",
        "RequestTimeTooSkewed",
        "SignatureDoesNotMatch",
    }
)
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
            return _denied(f"{name}: no AWS credentials found", LOG_IN)
        case boto.CredentialRetrievalError() | boto.SSOError() | boto.TokenRetrievalError():
            return _denied(f"{name}: no AWS credentials", "log in again")
        case boto.ProfileNotFound():
            return _denied(f"{name}: no such AWS profile", "correct AWS_PROFILE")
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
        return _denied(f"{name}: S3 rejects these credentials ({code})", _REMEDIES.get(code, ""))
    if code in _OTHER_REGION:
        headers = (response or {}).get("ResponseMetadata", {}).get("HTTPHeaders", {})
        region = headers.get("x-amz-bucket-region") or (response or {}).get("Error", {}).get("Region")
        remedy = f"set AWS_REGION={region or '...'}"
        return SourceError(f"{name}: the bucket is in another region: {remedy}", remedy)
    return SourceError(f"{name}: S3 answers {code}")


def _denied(problem: str, remedy: str) -> SourceDenied:
    return SourceDenied(f"{problem}: {remedy}" if remedy else problem, remedy)
