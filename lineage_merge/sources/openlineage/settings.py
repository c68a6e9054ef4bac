"""The ``openlineage`` configuration section, and the kind of documents that are read."""

import re
from dataclasses import dataclass, field, replace
from typing import Any

from lineage_merge.infra.redaction import redact
from lineage_merge.infra.setting import Form, RegionName, SecretName, Texts, VariableName, declare, parse
from lineage_merge.model.errors import ConfigError
from lineage_merge.sources.kafka_landing.settings import Kafka
from lineage_merge.sources.kinds import Kind
from lineage_merge.sources.settings import SERVER_URL, RunSelection, read_secret


@dataclass(frozen=True, slots=True)
class DataZone:
    """A domain of Amazon DataZone (SageMaker Catalog) whose events are read."""

    domain: str = declare(
        "id of the domain",
        example="dzd_4abcdefghijklm",
        form=Form(
            "^dzd[-_][a-zA-Z0-9_-]{1,36}$",
            "the id of a domain: dzd_ or dzd-, then up to 36 letters, digits and _ -",
        ),
    )
    region: RegionName = declare("region of the domain", "", "us-east-1", "that of the AWS configuration")

    def __str__(self) -> str:
        """Return ``DataZone dzd_4abcdefghijklm in us-east-1``, for messages."""
        return f"DataZone {self.domain}" + (f" in {self.region}" if self.region else "")


@dataclass(frozen=True, slots=True)
class Marquez:
    """A Marquez whose events are read. The key of its API is read on use."""

    url: str = declare("address of the API of Marquez", example="http://marquez:5000", form=SERVER_URL)
    api_key_env: VariableName = declare(
        "name of the environment variable with an API key, which is sent as Bearer token", "", "MARQUEZ_KEY"
    )
    api_key_secret: SecretName = declare(
        "name or ARN of the AWS Secrets Manager secret with the API key; #key for a JSON secret",
        "",
        "lineage/marquez#api_key",
    )
    timeout_seconds: float = declare("timeout of one request, in seconds", 60, above=0, maximum=86400)
    known_secret: str | None = field(default=None, repr=False)

    def complete(self, key: str) -> "Marquez":
        """Check that there is at most one API key."""
        if self.api_key_env and self.api_key_secret:
            raise ConfigError(key, "give either api_key_env or api_key_secret")
        return self

    def with_secret(self) -> "Marquez":
        """Return the settings with the API key, for executors, which lack the environment."""
        return replace(self, known_secret=self.secret())

    def secret(self) -> str:
        """Return the API key, "" without one. Raises `ConfigError` if it is missing, `SourceError`."""
        if self.known_secret is not None:
            return self.known_secret
        if not (self.api_key_env or self.api_key_secret):
            return ""
        key = "openlineage.marquez.api_key"
        return read_secret(self.api_key_env, f"{key}_env", self.api_key_secret, f"{key}_secret")

    def __str__(self) -> str:
        """Return ``Marquez http://marquez:5000``, for messages."""
        return f"Marquez {redact(self.url)}"


def _parse_marquez(written: Any, key: str) -> Marquez:
    return parse(Marquez, {"url": written} if isinstance(written, str) else written, key)


@dataclass(frozen=True, slots=True)
class OpenLineage(RunSelection):
    """Where events are read from, and which runs are selected."""

    events: Texts = declare(
        "files or folders (local or s3://) of events: JSON lines, arrays, logs, files of lineage-merge "
        "receive",
        (),
        "s3://bucket/events",
        is_path=True,
    )
    kafka: Kafka | None = declare("Kafka topic that OpenLineage clients write to", None)
    datazone: DataZone | None = declare("domain of Amazon DataZone whose events are read", None)
    marquez: Marquez | None = declare(
        "Marquez whose events are read: its address, or its settings",
        None,
        form=Form(
            SERVER_URL.pattern,
            SERVER_URL.text,
            is_secret=True,
            schema={"type": ["object", "string"]},
            parse=_parse_marquez,
        ),
    )
    jobs: tuple[str, ...] = declare("jobs to read, by name, globs allowed", (), ["tickit_*"], "all")
    namespaces: tuple[str, ...] = declare(
        "jobs to read, by the namespace in their events, globs allowed", (), ["prod"], "all"
    )

    def complete(self, key: str) -> "OpenLineage":
        """Check that events are given."""
        if not (self.events or self.kafka or self.datazone or self.marquez):
            raise ConfigError(key, "give events, kafka, datazone or marquez")
        return self


EVENTS = Kind(
    "OpenLineage events",
    "give them as openlineage.events",
    tuple(("eventTime", "producer", subject) for subject in ("run", "job", "dataset")),
    pattern=re.compile(r'"eventTime\\?"\s*:.{0,4000}?"(?:producer|schemaURL)\\?"\s*:', re.DOTALL),
)
