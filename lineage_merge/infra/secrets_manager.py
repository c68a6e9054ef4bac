"""Secrets in AWS Secrets Manager: read when needed, never stored.

A reference is the name or the ARN of a secret. With ``#key`` it refers to one value in a JSON secret, such as
those of databases and of Airflow's connections.
"""

import json
from typing import Any

from lineage_merge.model.errors import (
    ConfigError,
    SourceDenied,
    SourceError,
    SourceMissing,
    SourceUnreachable,
)

_DENIED = frozenset(
    {
        "403",
        "AccessDenied",
        "AccessDeniedException",
        "DecryptionFailure",
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "UnrecognizedClientException",
    }
)


def secret(reference: str, setting: str) -> str:
    """Return the text of a secret; `setting` is the configuration key of the reference, for messages.

    Raises `ConfigError` for a wrong ``#key``, `SourceError` if the secret cannot be read. Messages do not
    contain the reference: it may be a password by mistake.
    """
    name, _, key = reference.partition("#")
    text = _text(name, setting)
    if not key:
        return text
    try:
        found = json.loads(text)
    except ValueError:
        raise ConfigError(setting, "the secret is not JSON, so it has no #key") from None
    value = found.get(key) if isinstance(found, dict) else None
    if not isinstance(value, str):
        raise ConfigError(setting, f"the secret has no text under {key!r}")
    return value


def _text(name: str, setting: str) -> str:
    import boto3
    from botocore import exceptions as boto
    from botocore.config import Config

    # An ARN contains the region; otherwise the default chain provides it.
    parts = name.split(":")
    region: dict[str, Any] = {"region_name": parts[3]} if len(parts) > 6 else {}
    try:
        client = boto3.client(
            "secretsmanager",
            config=Config(
                connect_timeout=5, read_timeout=20, retries={"mode": "standard", "total_max_attempts": 3}
            ),
            **region,
        )
        answer = client.get_secret_value(SecretId=name)
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
