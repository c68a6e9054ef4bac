"""Access over HTTP: loopback addresses only, and a bearer token for every request."""

import hashlib
import hmac
import os
import secrets
import stat
from ipaddress import ip_address
from pathlib import Path

from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from lineage_merge.model.errors import ConfigError

_TOKEN_BYTES = 32
_MIN_TOKEN = 16
_SCHEME = b"bearer"


class BearerToken:
    """An application that answers 401 to requests without the token, before it reads them."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._digest = _digest(token.encode())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on requests with the token, and the messages of the start and end of the server."""
        if scope["type"] == "lifespan" or self._is_allowed(scope):
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no WebSockets
        refusal = PlainTextResponse(
            "a bearer token is required\n", 401, {"WWW-Authenticate": 'Bearer realm="lineage-merge"'}
        )
        await refusal(scope, receive, send)

    def _is_allowed(self, scope: Scope) -> bool:
        values = [value for name, value in scope.get("headers", ()) if name == b"authorization"]
        if scope["type"] != "http" or len(values) != 1:
            return False
        scheme, _, token = values[0].partition(b" ")
        # Digests have one length: the time depends neither on the token nor on its length.
        return hmac.compare_digest(_digest(token.strip()), self._digest) and scheme.lower() == _SCHEME


def allow_names(port: int) -> TransportSecuritySettings:
    """Return the names by which clients may address the server.

    A page of another site has its own name, also where it resolves to this machine (DNS rebinding).
    """
    hosts = [f"{host}:{port}" for host in ("127.0.0.1", "localhost", "[::1]")]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=hosts,
        allowed_origins=[f"http://{host}" for host in hosts],
    )


def require_loopback(host: str) -> str:
    """Return the address to listen on. Raises `ConfigError` unless it is one of this machine only."""
    address = "127.0.0.1" if host == "localhost" else host.strip("[]")
    try:
        is_loopback = ip_address(address).is_loopback
    except ValueError:
        is_loopback = False
    if not is_loopback or address not in ("127.0.0.1", "::1"):
        raise ConfigError("--host", f"not a loopback address: {host}. Fix: omit it, and use an SSH tunnel")
    return address


def read_token(variable: str | None, file: Path | None) -> tuple[str, bool]:
    """Return the token of an environment variable or a file, or a random one (True). Raises `ConfigError`."""
    if variable and file:
        raise ConfigError("--token-env", "and --token-file are set. Fix: omit one of them")
    if variable:
        return _check("--token-env", os.environ.get(variable, "").strip()), False
    if file:
        try:
            if stat.S_IMODE(file.stat().st_mode) & 0o077:
                raise ConfigError("--token-file", f"other users may read it. Fix: chmod 600 {file}")
            return _check("--token-file", file.read_text(encoding="utf-8").strip()), False
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
            raise ConfigError("--token-file", f"cannot read {file}: {reason}") from None
    return secrets.token_urlsafe(_TOKEN_BYTES), True


def _check(option: str, token: str) -> str:
    if not token:
        raise ConfigError(option, "the token is empty. Fix: openssl rand -base64 32")
    if len(token) < _MIN_TOKEN or not (token.isascii() and token.isprintable()) or " " in token:
        raise ConfigError(option, f"a token has {_MIN_TOKEN} or more visible ASCII characters")
    return token


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()
