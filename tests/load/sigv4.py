"""Verifier of Signature Version 4, implemented from AWS's description, independent of any signer.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

import hashlib
import hmac
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, quote

_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/]+)/(?P<day>\d{8})/(?P<region>[^/]+)/(?P<service>[^/]+)"
    r"/aws4_request, SignedHeaders=(?P<headers>[a-z0-9;-]+), Signature=(?P<signature>[0-9a-f]{64})"
)
_GOOD_FOR = timedelta(minutes=5)


class Refused(Exception):
    """A request is rejected, with the reason."""


@dataclass(frozen=True)
class Keys:
    """Secret of an access key, and its session token if it is temporary."""

    secret: str
    token: str = ""


@dataclass(frozen=True)
class Request:
    """A received request without a body; header names in any case."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]

    def header(self, name: str) -> str:
        found = [value for key, value in self.headers.items() if key.lower() == name]
        if len(found) != 1:
            raise Refused(f"{name}: {len(found)} of them")
        return found[0]


def signature(request: Request, signed: list[str], scope: tuple[str, str, str], secret: str) -> str:
    """Return the expected signature; `scope`: day, region and service."""
    lines = [f"{name}:{' '.join(request.header(name).split())}\n" for name in signed]
    pairs = sorted(
        (quote(key, safe="-_.~"), quote(value, safe="-_.~"))
        for key, value in parse_qsl(request.query, keep_blank_values=True)
    )
    canonical = "\n".join(
        [
            request.method,
            quote(request.path, safe="/-_.~"),
            "&".join(f"{key}={value}" for key, value in pairs),
            "".join(lines),
            ";".join(signed),
            hashlib.sha256(b"").hexdigest(),
        ]
    )
    to_sign = "\n".join(
        [
            "AWS4-HMAC-SHA256",
            request.header("x-amz-date"),
            "/".join((*scope, "aws4_request")),
            hashlib.sha256(canonical.encode()).hexdigest(),
        ]
    )
    key = f"AWS4{secret}".encode()
    for part in (*scope, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.new(key, to_sign.encode(), "sha256").hexdigest()


def verify(
    request: Request, keys_of: Callable[[str], Keys | None], region: str, service: str, now: datetime
) -> str:
    """Return the signature of a correctly signed request. Raises Refused."""
    if not any(key.lower() == "authorization" for key in request.headers):
        raise Refused("Missing Authentication Token")
    found = _AUTHORIZATION.fullmatch(request.header("authorization"))
    if not found:
        raise Refused("Authorization header requires other parts")
    keys = keys_of(found["key"])
    if keys is None:
        raise Refused("The security token included in the request is invalid.")
    if (found["region"], found["service"]) != (region, service):
        raise Refused(f"Credential should be scoped to {region}/{service}")
    signed = found["headers"].split(";")
    if signed != sorted(signed) or not {"host", "x-amz-date"} <= set(signed):
        raise Refused("SignedHeaders are not what they must be")
    sent = request.header("x-amz-date")
    moment = datetime.strptime(sent, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    if not sent.startswith(found["day"]) or abs(now - moment) > _GOOD_FOR:
        raise Refused(f"Signature expired: {sent}")
    if keys.token and (
        "x-amz-security-token" not in signed or request.header("x-amz-security-token") != keys.token
    ):
        raise Refused("The security token included in the request is invalid.")
    expected = signature(request, signed, (found["day"], region, service), keys.secret)
    if not hmac.compare_digest(expected, found["signature"]):
        raise Refused("The request signature we calculated does not match the signature you provided.")
    return expected
