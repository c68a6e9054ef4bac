"""The ``spline`` configuration section, and the kinds of documents that are read."""

import fnmatch
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lineage_merge.config.section import locations
from lineage_merge.model.errors import ConfigError, ErrorCollector
from lineage_merge.sources.kafka_landing.settings import Kafka, kafka
from lineage_merge.sources.kinds import Kind
from lineage_merge.sources.settings import RunSelection, run_selection

# Keys that say where documents are read from.
LOCATION_KEYS = ("export", "arango", "agent", "kafka")


@dataclass(frozen=True, slots=True)
class Arango:
    """Connection settings of Spline's ArangoDB. The password itself is read on use."""

    hosts: str
    database: str
    username: str = "root"
    password_env: str = ""
    password_secret: str = ""
    auth_method: str = "basic"
    batch_size: int = 1000
    timeout_seconds: float = 60.0
    known_password: str | None = field(default=None, repr=False)

    def with_password(self) -> "Arango":
        """Return the settings with the password, for executors, which lack the driver's environment."""
        return replace(self, known_password=self.password())

    def password(self) -> str:
        """Return the password from the configured variable or secret; empty without either.

        Raises `ConfigError` if it is missing, `SourceError` if Secrets Manager does not return it.
        """
        if self.known_password is not None:
            return self.known_password
        if self.password_secret:
            from lineage_merge.infra.aws import secret

            return secret(self.password_secret, "spline.arango.password_secret")
        if not self.password_env:
            return ""
        try:
            return os.environ[self.password_env]
        except KeyError:
            # Without the variable's name: it may be the password itself by mistake.
            problem = "the environment variable of this name is not set; set it, or give a variable's name"
            raise ConfigError("spline.arango.password_env", problem) from None


@dataclass(frozen=True, slots=True)
class Spline(RunSelection):
    """Where documents are read from, and which applications and writes are selected.

    Exactly one of: `export`, `arango`, or agents' files: `agent` (files or folders), `kafka`, or both.
    `labels`: alternative values by label name. `operations`: also load Spline's operations.
    """

    export: str = ""
    arango: Arango | None = None
    agent: tuple[str, ...] = ()
    kafka: Kafka | None = None
    applications: tuple[str, ...] = ()
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    operations: bool = False

    def with_secrets(self) -> "Spline":
        """Return the settings with the password, for executors."""
        if self.arango is None:
            return self
        return replace(self, arango=self.arango.with_password())

    def wants(self, job_name: str, application: str) -> bool:
        """Return whether an application is selected, by its name or by its job on Glue."""
        if not self.applications:
            return True
        names = (job_name, application)
        return any(fnmatch.fnmatchcase(name, glob) for name in names for glob in self.applications)


def parse(settings: Mapping[str, Any]) -> Spline:
    """Parse settings that fit the schema. Raises `ConfigError`."""
    if not settings.keys() & {*LOCATION_KEYS}:
        raise ConfigError("spline", "give export, arango, agent or kafka")
    errors = ErrorCollector()
    spline = Spline(
        export=settings.get("export", ""),
        arango=errors.get(lambda: _arango(settings["arango"]), None) if "arango" in settings else None,
        agent=locations(settings.get("agent", ())),
        kafka=errors.get(lambda: kafka("spline", settings), None),
        applications=tuple(settings.get("applications", ())),
        labels={name: _label(value) for name, value in settings.get("labels", {}).items()},
        **run_selection("spline", settings, errors),
        operations=settings.get("operations", False),
    )
    errors.raise_errors()
    return spline


def _arango(settings: Mapping[str, Any]) -> Arango:
    hosts = [host.strip() for host in settings["hosts"].split(",")]
    if any("@" in host for host in hosts):
        raise ConfigError("spline.arango.hosts", "contains a user or password: use username and password_env")
    if "password_env" in settings and "password_secret" in settings:
        raise ConfigError("spline.arango", "give either password_env or password_secret")
    arango = Arango(**settings)
    return replace(arango, hosts=",".join(hosts), batch_size=int(arango.batch_size))


def _label(value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    return tuple(text if isinstance(text, str) else json.dumps(text) for text in values)


# The agent that our own listener names.
LISTENER = "lineage-merge"


def is_of_listener(body: object) -> bool:
    """Return whether a plan is one of our own listener (`lineage_merge.capture.install`)."""
    agent = body.get("agentInfo") if isinstance(body, dict) else None
    return isinstance(agent, dict) and agent.get("name") == LISTENER


EXPORT = Kind(
    "documents of Spline's database",
    "give the folder of the collections as spline.export",
    (("_key", "_id"), ("_key", "_belongsTo"), ("_key", "_rev")),
)
AGENT = Kind(
    "messages of a Spline agent",
    "give them as spline.agent",
    (("planId", "timestamp"), ("executionPlan", "executionEvent"), ("id", "operations")),
    lambda document: (
        isinstance(document, list)
        and len(document) > 1
        and document[0] in ("plan", "event")
        and not is_of_listener(document[1])
    ),
    re.compile(
        r"Execution(?:Plan|Event) \(apiVersion"
        rf'|\[\s*"(?:plan|event)"\s*,\s*(?!\{{"agentInfo":\{{"name":"{LISTENER}")[\[{{]'
    ),
)
