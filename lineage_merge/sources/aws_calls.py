"""Clients of AWS services, and their errors. Credentials are those of the default chain."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lineage_merge.infra.aws import API_DENIED, boto_client
from lineage_merge.infra.redaction import redact
from lineage_merge.model.errors import SourceDenied, SourceError, SourceMissing, SourceUnreachable

_DENIED = API_DENIED | {"UnauthorizedException"}
_MISSING = frozenset({"ResourceNotFoundException", "EntityNotFoundException"})
# Tasks call concurrently, so that calls are throttled.
_ATTEMPTS = 8


@contextmanager
def client_of(service: str, region: str, resource: str) -> Iterator[Any]:
    """Open a client; `resource` is the other side in messages. Raises `SourceError`."""
    with _translate_errors(resource):
        client = boto_client(
            service, read_timeout=60, attempts=_ATTEMPTS, mode="adaptive", region_name=region or None
        )
    try:
        with _translate_errors(resource):
            yield client
    finally:
        client.close()


@contextmanager
def _translate_errors(resource: str) -> Iterator[None]:
    """Translate boto's errors into the project's."""
    from botocore import exceptions as boto

    try:
        yield
    except boto.ClientError as error:
        code = str(error.response.get("Error", {}).get("Code", ""))
        message = redact(f"{resource}: {code}: {error.response.get('Error', {}).get('Message', '')}")
        kind = SourceDenied if code in _DENIED else SourceMissing if code in _MISSING else SourceError
        raise kind(message) from None
    except (boto.NoCredentialsError, boto.PartialCredentialsError, boto.CredentialRetrievalError):
        raise SourceDenied(f"{resource}: no AWS credentials found") from None
    except (boto.ConnectionError, boto.HTTPClientError) as error:
        raise SourceUnreachable(f"{resource}: {type(error).__name__}") from None
    except boto.BotoCoreError as error:
        raise SourceError(redact(f"{resource}: {error}")) from None
