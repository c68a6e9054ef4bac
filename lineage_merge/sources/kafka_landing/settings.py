"""The ``kafka`` section in a source's configuration."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from lineage_merge.infra.json_schema import path_text
from lineage_merge.infra.setting import Form, SecretName, VariableName, declare
from lineage_merge.model.errors import ConfigError

# Kafka options that are, or contain, passwords.
_SECRET_OPTION = re.compile(
    r"(sasl\.jaas\.config|ssl\.keystore\.key|(.*\.)?password|.*secret.*|.*\.token)$", re.IGNORECASE
)


def _parse_options(written: Mapping[str, Any], key: str) -> Mapping[str, str]:
    for name in written:
        if _SECRET_OPTION.match(name):
            problem = "contains a password: name its variable in options_env, or its secret in options_secret"
            raise ConfigError(path_text([key, name]), problem)
    return {name: text_of(value) for name, value in written.items()}


def text_of(value: Any) -> str:
    """Return a text, number or boolean as Kafka and Spline have it."""
    return value if isinstance(value, str) else json.dumps(value)


@dataclass(frozen=True, slots=True)
class Kafka:
    """A topic and the landing folder for its messages: `sources.kafka_landing.kafka`.

    `key` is the configuration key of the section.
    """

    servers: str = declare(
        "Kafka bootstrap servers, comma-separated: broker1:9092,broker2:9092",
        example="broker1:9092,broker2:9092",
        form=Form(
            "^[^\\s,/@]+:[0-9]+(,\\s*[^\\s,/@]+:[0-9]+)*$",
            "host:port, or several with commas",
            is_secret=True,
        ),
    )
    topic: str = declare(
        "name of the topic", example="lineage", form=Form("^[A-Za-z0-9._-]{1,249}$", "the name of one topic")
    )
    landing: str = declare(
        "folder (local or s3://) for the messages read from the topic; its file names record the offsets",
        example="s3://bucket/landing",
        is_path=True,
    )
    options: Mapping[str, str] = declare(
        "Kafka consumer options, such as {security.protocol: SASL_SSL}; no passwords",
        {},
        {"security.protocol": "SASL_SSL"},
        form=Form(
            schema={"additionalProperties": {"type": ["string", "number", "boolean"]}}, parse=_parse_options
        ),
    )
    options_env: Mapping[str, VariableName] = declare(
        "more options, by the name of the environment variable with the value: {sasl.jaas.config: "
        "KAFKA_LOGIN}",
        {},
        {"sasl.jaas.config": "KAFKA_LOGIN"},
    )
    options_secret: Mapping[str, SecretName] = declare(
        "more options, by the name or ARN of the AWS Secrets Manager secret with the value; #key for a JSON "
        "secret",
        {},
        {"sasl.jaas.config": "kafka/login#jaas"},
    )
    key: str = "kafka"

    def complete(self, key: str) -> "Kafka":
        """Check the names of options."""
        names = [*self.options, *self.options_env, *self.options_secret]
        for name in names:
            if name.startswith("kafka."):
                problem = "use Kafka's name, without the prefix kafka."
                raise ConfigError(path_text([key, "options", name]), problem)
            if names.count(name) > 1:
                raise ConfigError(key, f"duplicate option: {name}")
        return replace(self, key=key)

    def all_options(self) -> dict[str, str]:
        """Return the options including passwords, which must not be logged or stored.

        Raises `ConfigError` for a missing one, `SourceError` if Secrets Manager does not return it.
        """
        options = dict(self.options)
        for name, variable in self.options_env.items():
            if variable not in os.environ:
                problem = "the environment variable of this name is not set"
                raise ConfigError(path_text([self.key, "options_env", name]), problem)
            options[name] = os.environ[variable]
        if self.options_secret:
            from lineage_merge.infra.aws import secret

            for name, reference in self.options_secret.items():
                options[name] = secret(reference, path_text([self.key, "options_secret", name]))
        return options
