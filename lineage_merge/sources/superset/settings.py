"""The ``superset`` configuration section, one entry per server or export, and the kind of documents."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from urllib.parse import urlsplit

from lineage_merge.infra.redaction import redact
from lineage_merge.infra.setting import SecretName, VariableName, declare
from lineage_merge.model.errors import ConfigError
from lineage_merge.sources.kinds import Kind
from lineage_merge.sources.settings import SERVER_URL, read_secret

# Stands for the host of an export whose server is not configured.
UNKNOWN_HOST = "superset"


@dataclass(frozen=True, slots=True)
class Superset:
    """Where dashboards are read from: an `export`, or a server at `url`. Secrets themselves are read on use.

    The `url` of an export names the server that it comes from.
    """

    export: str = declare(
        "export of dashboards: a zip, or a folder (local or s3://) of zips or of unpacked exports",
        "",
        "s3://bucket/superset",
        is_path=True,
    )
    url: str = declare(
        "address of Superset; with an export: of the Superset that it comes from, for names and links",
        "",
        "https://superset.example.com",
        form=SERVER_URL,
    )
    username: str = declare("user to log in as", "", "reader")
    provider: Literal["db", "ldap"] = declare("where the user is known", "db")
    password_env: VariableName = declare(
        "name of the environment variable with the password", "", "SUPERSET_PASSWORD"
    )
    password_secret: SecretName = declare(
        "name or ARN of the AWS Secrets Manager secret with the password; #key for a JSON secret",
        "",
        "lineage/superset#password",
    )
    token_env: VariableName = declare(
        "name of the environment variable with an access token, instead of a user", "", "SUPERSET_TOKEN"
    )
    dashboards: tuple[str, ...] = declare(
        "dashboards to read, by UUID, slug or title, globs allowed", (), ["Sales*"], "all"
    )
    databases: Mapping[str, str] = declare(
        "namespaces of databases whose address names no host, by name: as host/database, if it has one",
        {},
        {"shop": "postgres://host:5432/shop"},
    )
    timeout_seconds: float = declare("timeout of one request, in seconds", 60, above=0, maximum=86400)
    known_secret: str | None = field(default=None, repr=False)

    def complete(self, key: str) -> "Superset":
        """Return the settings. Raises `ConfigError` if they name no place to read from, or no login."""
        if self.export:
            return self
        if not self.url:
            raise ConfigError(key, "give either export or url")
        if self.password_env and self.password_secret:
            raise ConfigError(key, "give either password_env or password_secret")
        if bool(self.token_env) == bool(self.username):
            raise ConfigError(key, "give either username or token_env")
        if self.username and not (self.password_env or self.password_secret):
            raise ConfigError(key, "give password_env or password_secret")
        return self

    def with_secret(self) -> "Superset":
        """Return the settings with the password or token, for executors, which lack the environment."""
        return self if self.export else replace(self, known_secret=self.secret())

    def secret(self) -> str:
        """Return the password or token. Raises `ConfigError` if it is missing, `SourceError`."""
        if self.known_secret is not None:
            return self.known_secret
        name = "token_env" if self.token_env else "password_env"
        variable = self.token_env or self.password_env
        return read_secret(variable, f"superset.{name}", self.password_secret, "superset.password_secret")

    @property
    def namespace(self) -> str:
        """The namespace of dashboards and data sets."""
        return f"superset://{urlsplit(self.url).netloc.lower() or UNKNOWN_HOST}"

    def __str__(self) -> str:
        """Return the address, for messages."""
        return redact(self.export or self.url)


def _is_export(document: Any) -> bool:
    from lineage_merge.sources.superset.documents import recognize

    return recognize(document) is not None


EXPORT = Kind("exports of Superset", "give their folder as superset[].export", is_document=_is_export)
