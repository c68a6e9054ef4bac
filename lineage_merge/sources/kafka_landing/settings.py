"""The ``kafka`` section in a source's configuration."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lineage_merge.infra.json_schema import path_text
from lineage_merge.model.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Kafka:
    """A topic and the landing folder for its messages: `sources.kafka_landing.kafka`.

    `options` are Kafka's own, without the prefix ``kafka.``; passwords are given by environment variable
    (`options_env`) or secret (`options_secret`). `key` is the configuration key of the section.
    """

    servers: str
    topic: str
    landing: str
    options: Mapping[str, str] = field(default_factory=dict)
    options_env: Mapping[str, str] = field(default_factory=dict)
    options_secret: Mapping[str, str] = field(default_factory=dict)
    key: str = "kafka"

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


# Kafka options that are, or contain, passwords.
_SECRET_OPTION = re.compile(
    r"(sasl\.jaas\.config|ssl\.keystore\.key|(.*\.)?password|.*secret.*|.*\.token)$", re.IGNORECASE
)


def kafka(section: str, settings: Mapping[str, Any]) -> Kafka | None:
    """Return the ``kafka`` section of a source's configuration, such as ``spline``; None without one."""
    if "kafka" not in settings:
        return None
    given = dict(settings["kafka"])
    key = f"{section}.kafka"
    options = {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in given.pop("options", {}).items()
    }
    for name in options:
        if _SECRET_OPTION.match(name):
            problem = "contains a password: name its variable in options_env, or its secret in options_secret"
            raise ConfigError(path_text([key, "options", name]), problem)
    groups = (options, given.get("options_env", {}), given.get("options_secret", {}))
    names = [name for group in groups for name in group]
    for name in names:
        if name.startswith("kafka."):
            problem = "use Kafka's name, without the prefix kafka."
            raise ConfigError(path_text([key, "options", name]), problem)
        if names.count(name) > 1:
            raise ConfigError(key, f"duplicate option: {name}")
    return Kafka(**{**given, "options": options, "key": key})
