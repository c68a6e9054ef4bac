"""Endpoint of a configuration: address, limits, and signing of connections."""

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit

from lineage_merge.config import Gremlin
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.signing import Iam, region_of_chain
from lineage_merge.model.errors import ConfigError

# db.cluster-abc.us-east-1.neptune.amazonaws.com, ....neptune.amazonaws.com.cn
_NEPTUNE_HOST = re.compile(r"\.([a-z]{2}(?:-[a-z]+)+-\d+)\.neptune\.amazonaws\.com(?:\.cn)?$")


def endpoint(gremlin: Gremlin) -> Endpoint:
    """Return the endpoint of a configuration. Raises ConfigError if keys contradict each other."""
    _reject_reader(gremlin.endpoint)
    for key, address in (("endpoint", gremlin.endpoint), ("reader_endpoint", gremlin.reader_endpoint)):
        _require_path(f"gremlin.{key}", address)
    return Endpoint(
        gremlin.endpoint,
        gremlin.timeout_seconds,
        gremlin.retry_seconds,
        _iam(gremlin) if gremlin.iam_auth else None,
        gremlin.reader_endpoint,
        gremlin.writers,
    )


def _reject_reader(url: str) -> None:
    if ".cluster-ro-" in _host(url):
        raise ConfigError(
            "gremlin.endpoint",
            "is Neptune's reader endpoint, which accepts no writes. Fix: set the cluster endpoint here,"
            " and this one as gremlin.reader_endpoint",
        )


def _require_path(key: str, url: str) -> None:
    """Reject an endpoint of Neptune without its path; other servers may have another one."""
    if region_of(_host(url)) and _parts(url).path.strip("/") != "gremlin":
        raise ConfigError(key, f"the path is missing: wss://{_host(url)}:{_port(url)}/gremlin")


def _iam(gremlin: Gremlin) -> Iam:
    regions = set()
    for key, url in (("endpoint", gremlin.endpoint), ("reader_endpoint", gremlin.reader_endpoint)):
        if not url:
            continue
        _reject_insecure(f"gremlin.{key}", url)
        if url_region := region_of(_host(url)):
            regions.add(url_region)
    if gremlin.region:
        if regions - {gremlin.region}:
            raise ConfigError("gremlin.region", f"the endpoint is in {', '.join(sorted(regions))}")
        regions = {gremlin.region}
    if len(regions) > 1:
        raise ConfigError("gremlin.reader_endpoint", "is in another region than gremlin.endpoint")
    region = regions.pop() if regions else region_of_chain()
    if not region:
        problem = "is required for gremlin.iam_auth: not in the endpoint, AWS_REGION or a profile"
        raise ConfigError("gremlin.region", problem)
    return Iam(region, gremlin.role_arn)


def _reject_insecure(key: str, url: str) -> None:
    parts = _parts(url)
    if parts.scheme == "ws" and not _is_loopback(_host(url)):
        raise ConfigError(key, "gremlin.iam_auth requires wss://: ws:// exposes the signature")
    if "@" in parts.netloc:
        raise ConfigError(key, "must not contain a user or password with gremlin.iam_auth")


def region_of(host: str) -> str:
    """Return the region in the name of a Neptune host; "" for other hosts."""
    match = _NEPTUNE_HOST.search(host)
    return match[1] if match else ""


def _host(url: str) -> str:
    return _parts(url).hostname or ""


def _port(url: str) -> int:
    try:
        return _parts(url).port or 8182
    except ValueError:  # not a number
        return 8182


def _parts(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")  # connecting reports the error


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
