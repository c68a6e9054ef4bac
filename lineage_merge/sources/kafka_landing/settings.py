"""``kafka`` in the settings of a source."""

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
    """One topic, and the folder that keeps what was read of it: `sources.kafka_landing.kafka`.

    `options` are Kafka's own, without ``kafka.`` before them; those that hold a password name an
    environment variable (`options_env`) or a secret (`options_secret`). `key` is where it stands.
    """

    servers: str
    topic: str
    landing: str
    options: Mapping[str, str] = field(default_factory=dict)
    options_env: Mapping[str, str] = field(default_factory=dict)
    options_secret: Mapping[str, str] = field(default_factory=dict)
    key: str = "kafka"

    def all_options(self) -> dict[str, str]:
        """The options with the passwords in them: never shown, never kept.

        Raises `ConfigError` where one is not there, `SourceError` where Secrets Manager does not give it.
        """
        found = dict(self.options)
        for name, variable in self.options_env.items():
            if variable not in os.environ:
                problem = "the environment variable of this name is not set"
                raise ConfigError(path_text([self.key, "options_env", name]), problem)
            found[name] = os.environ[variable]
        if self.options_secret:
            from lineage_merge.infra.secrets_manager import secret

            for name, reference in self.options_secret.items():
                found[name] = secret(reference, path_text([self.key, "options_secret", name]))
        return found


# Kafka's options that are passwords, or hold one.
_SECRET_OPTION = re.compile(
    r"(sasl\.jaas\.config|ssl\.keystore\.key|(.*\.)?password|.*secret.*|.*\.token)$", re.IGNORECASE
)


def kafka(section: str, settings: Mapping[str, Any]) -> Kafka | None:
    """``kafka`` of a source's part of the configuration, such as ``spline``; None where it has none."""
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
            problem = "holds a password: name its variable in options_env, or its secret in options_secret"
            raise ConfigError(path_text([key, "options", name]), problem)
    places = (options, given.get("options_env", {}), given.get("options_secret", {}))
    names = [name for place in places for name in place]
    for name in names:
        if name.startswith("kafka."):
            problem = "give it as Kafka names it, without kafka. before it"
            raise ConfigError(path_text([key, "options", name]), problem)
        if names.count(name) > 1:
            raise ConfigError(key, f"the option {name} is given twice")
    return Kafka(**{**given, "options": options, "key": key})
