"""The ``spline`` configuration section, and the kinds of documents that are read."""

import fnmatch
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, Literal

from lineage_merge.infra.setting import Form, SecretName, Texts, VariableName, declare
from lineage_merge.model.errors import ConfigError
from lineage_merge.sources.kafka_landing.settings import Kafka, text_of
from lineage_merge.sources.kinds import LISTENER, Kind, is_of_listener
from lineage_merge.sources.settings import RunSelection

# Keys that say where documents are read from.
LOCATION_KEYS = ("export", "arango", "agent", "kafka")


def _parse_hosts(text: str, key: str) -> str:
    if "@" in text:
        raise ConfigError(key, "contains a user or password: use username and password_env")
    return ",".join(host.strip() for host in text.split(","))


@dataclass(frozen=True, slots=True)
class Arango:
    """Connection settings of Spline's ArangoDB. The password itself is read on use."""

    hosts: str = declare(
        "address, or several, comma-separated: http://arangodb:8529",
        example="http://arangodb:8529",
        form=Form(
            "^https?://[^\\s,]+(,\\s*https?://[^\\s,]+)*$",
            "http://host:port or https://...",
            {
                "^[^:/]+(:[0-9]+)?$": "begin with http:// (https:// with TLS)",
                "^(tcp|ssl|arangodb|http\\+tcp|wss?)://": "write http:// (https:// with TLS)",
            },
            is_secret=True,
            parse=_parse_hosts,
        ),
    )
    database: str = declare("name of Spline's database", example="spline")
    username: str = declare("user to log in as", "root", "reader", form=Form(schema={"minLength": 0}))
    password_env: VariableName = declare(
        "name of the environment variable with the password",
        "",
        "ARANGO_PASSWORD",
        form=Form(hints={"": "set a variable to the password, and give its name"}),
    )
    password_secret: SecretName = declare(
        "name or ARN of the AWS Secrets Manager secret with the password; #key for a JSON secret",
        "",
        "lineage/arango#password",
    )
    auth_method: Literal["basic", "jwt"] = declare("authentication method", "basic")
    batch_size: int = declare("documents per cursor batch", 1000, minimum=1, maximum=100_000)
    timeout_seconds: float = declare("timeout of one request, in seconds", 60, above=0, maximum=86400)
    known_password: str | None = field(default=None, repr=False)

    def complete(self, key: str) -> "Arango":
        """Check that at most one password is given."""
        if self.password_env and self.password_secret:
            raise ConfigError(key, "give either password_env or password_secret")
        return self

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


_LABEL = {"type": ["string", "number", "boolean"]}


def _parse_labels(written: Mapping[str, Any], _key: str) -> Mapping[str, tuple[str, ...]]:
    lists = {name: value if isinstance(value, list) else [value] for name, value in written.items()}
    return {name: tuple(map(text_of, values)) for name, values in lists.items()}


@dataclass(frozen=True, slots=True)
class Spline(RunSelection):
    """Where documents are read from, and which applications and writes are selected.

    Exactly one of: `export`, `arango`, or agents' files: `agent`, `kafka`, or both.
    """

    export: str = declare(
        "folder (local or s3://) of exported collections, one file each; or a folder of such folders",
        "",
        "exports/spline",
        is_path=True,
    )
    arango: Arango | None = declare("Spline's ArangoDB", None)
    agent: Texts = declare(
        "files or folders (local or s3://) that Spline agents wrote: logs, console output, files of "
        "lineage-merge receive",
        (),
        "s3://bucket/logs",
        is_path=True,
    )
    kafka: Kafka | None = declare("Kafka topic that Spline agents write to", None)
    applications: tuple[str, ...] = declare(
        "applications to read, by name, globs allowed", (), ["tickit_*"], "all"
    )
    labels: Mapping[str, tuple[str, ...]] = declare(
        "labels, set for the agent, that a write must have: one value, or a list of alternatives",
        {},
        {"airflow.dag_id": "tickit_daily"},
        form=Form(
            schema={
                "additionalProperties": {
                    "type": [*_LABEL["type"], "array"],
                    "minLength": 1,
                    "minItems": 1,
                    "items": _LABEL,
                }
            },
            parse=_parse_labels,
        ),
    )
    operations: bool = declare("also load the operations of each job's newest run as vertices", False)

    def complete(self, key: str) -> "Spline":
        """Check that one location is given, or several of agents."""
        given = [name for name in LOCATION_KEYS if getattr(self, name)]
        if not given:
            raise ConfigError(key, "give export, arango, agent or kafka")
        for one, other in combinations(given, 2):
            if one in ("export", "arango"):
                raise ConfigError(key, f"{one} and {other} are mutually exclusive")
        return self

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture(RunSelection):
    """Which files, applications and runs are read."""

    files: Texts = declare(
        "files or folders (local or s3://) that capture.install writes to",
        example="s3://bucket/lineage",
        is_path=True,
    )
    applications: tuple[str, ...] = declare(
        "applications to read, by name, globs allowed", (), ["tickit_*"], "all"
    )

    def as_agent(self) -> Spline:
        """Return the settings with which Spline's source reads the files."""
        return Spline(
            runs=self.runs,
            lookback=self.lookback,
            retire_after=self.retire_after,
            agent=self.files,
            applications=self.applications,
        )


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
LINES = Kind(
    "messages of capture.install",
    "give them as capture.files",
    is_document=lambda document: (
        isinstance(document, list) and document[:1] == ["plan"] and any(map(is_of_listener, document[1:2]))
    ),
    pattern=re.compile(rf'\["plan", \{{"agentInfo":\{{"name":"{LISTENER}"'),
    first="[",
)
