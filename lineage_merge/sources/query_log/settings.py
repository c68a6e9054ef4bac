"""The ``query_log`` configuration section, one entry per warehouse, and the kinds of documents."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import product
from typing import Literal

from lineage_merge.config.section import parse_namespace
from lineage_merge.infra.redaction import redact
from lineage_merge.infra.setting import Form, SecretName, VariableName, declare
from lineage_merge.model.errors import ConfigError
from lineage_merge.sources.kinds import Kind
from lineage_merge.sources.settings import NamespaceSetting, declare_lookback, declare_retire_after

Format = Literal["redshift", "athena", "statements"]
UserNames = Literal["off", "hashed", "groups"]
JOB_TYPES: Mapping[Format, str] = {"redshift": "redshift", "athena": "athena", "statements": "query_log"}
_PLATFORMS: Mapping[Format, str] = {"redshift": "redshift", "athena": "athena", "statements": ""}
# What logs of one warehouse have in common.
_OF_WAREHOUSE = (
    *("dialect", "search_path", "lookback", "usage"),
    *("users", "user_groups", "user_salt_env", "user_salt_secret"),
)
_ROLE = "^(default|arn:[A-Za-z0-9:/_+=,.@-]+)$"
_DEFAULT_PATH = ("$user", "public")


@dataclass(frozen=True, slots=True)
class QueryLog:
    """A warehouse's history of statements, in files (`path`) or behind an API.

    `cluster` (provisioned) or `workgroup` (serverless, Athena) with `database` name the other side of the
    API. With an `archive`, `path` is its folder that `archive-history` writes for this cluster.
    """

    format: Format = declare("redshift, athena, or statements (the documented file of any other warehouse)")
    namespace: str = declare("namespace of the warehouse's tables", example="redshift://cluster.region:5439")
    dialect: str = declare(
        "sqlglot dialect of the statements",
        "",
        "snowflake",
        "that of the format",
        form=Form("^[A-Za-z][A-Za-z0-9_]*$", "a sqlglot dialect such as snowflake"),
    )
    path: str = declare(
        "folder (local or s3://) with a folder of files per system view of Redshift, or of JSON lines with "
        "statements",
        "",
        "s3://bucket/history",
        is_path=True,
    )
    search_path: tuple[str, ...] = declare(
        "schemas of unqualified names at the beginning of a session",
        _DEFAULT_PATH,
        ["$user", "public"],
        "$user, public",
    )
    cluster: str = declare("provisioned Redshift cluster, read through the Data API", "", "analytics")
    workgroup: str = declare(
        "workgroup of Redshift Serverless, read through the Data API, or of Athena", "", "primary"
    )
    database: str = declare("database that the Data API connects to", "", "dev", "of Athena its default one")
    db_user: str = declare("database user of the Data API", "", "lineage", "the one of the IAM identity")
    secret_arn: str = declare(
        "secret in AWS Secrets Manager with the Data API's user",
        "",
        "arn:aws:secretsmanager:region:account:secret:name",
    )
    region: str = declare("AWS region", "", "eu-central-1", "that of the environment")
    lookback: timedelta = declare_lookback()
    retire_after: int = declare_retire_after()
    usage: bool = declare("whether reads of datasets and columns are counted", True)
    users: UserNames = declare("how those who read are named: off (not at all), hashed, or groups", "off")
    user_groups: tuple[tuple[str, str], ...] = declare(
        "groups by patterns of user names, the first one that matches; others are other",
        (),
        {"looker*": "looker"},
        form=Form(written=Mapping[str, str], parse=lambda written, _key: tuple(written.items())),
    )
    user_salt_env: VariableName = declare(
        "name of the environment variable with the key of the hashes",
        "",
        "LINEAGE_USER_SALT",
        form=Form(hints={"": "set a variable to the salt, and give its name"}),
    )
    user_salt_secret: SecretName = declare(
        "name or ARN of the AWS Secrets Manager secret with the key of the hashes; #key for a JSON secret",
        "",
        "lineage/users#salt",
    )
    archive: str = declare(
        "folder in S3 in which archive-history stores Redshift's system views, which keep seven days; a run "
        "reads it and not the Data API",
        "",
        "s3://bucket/redshift_history",
    )
    iam_role: str = declare(
        "role that Redshift's UNLOAD assumes to write the archive",
        "default",
        "arn:aws:iam::111122223333:role/redshift-unload",
        "the cluster's default role",
        form=Form(_ROLE, "default, or the ARN of a role"),
    )
    archive_region: str = declare(
        "AWS region of the archive's bucket, if the cluster is in another one",
        "",
        "eu-west-1",
        form=Form("^[a-z0-9-]+$", "the name of a region"),
    )

    def complete(self, key: str) -> "QueryLog":
        """Return the log with what follows from its format. Raises `ConfigError`."""
        kind, has_api = self.format, bool(self.cluster_or_workgroup)
        if kind == "statements" and not (self.path and self.dialect):
            raise ConfigError(key, "give path and dialect for format statements")
        if bool(self.path) == has_api:
            raise ConfigError(key, "give either path, or cluster or workgroup")
        if kind == "redshift" and has_api and not self.database:
            raise ConfigError(f"{key}.database", "required with cluster or workgroup")
        if kind == "athena" and self.path:
            raise ConfigError(f"{key}.path", "Athena is read through its API: give workgroup")
        if self.users == "hashed" and bool(self.user_salt_env) == bool(self.user_salt_secret):
            raise ConfigError(f"{key}.users", "hashed: give either user_salt_env or user_salt_secret")
        if self.users == "groups" and not self.user_groups:
            raise ConfigError(f"{key}.users", "groups: give user_groups")
        if self.archive and not (kind == "redshift" and has_api):
            raise ConfigError(f"{key}.archive", "only for Redshift with cluster or workgroup")
        platform = _PLATFORMS[kind] or self.dialect.lower()
        log = replace(
            self,
            namespace=parse_namespace(self.namespace, f"{key}.namespace", platform),
            dialect=(self.dialect or kind).lower(),
            path=archive_folder(self.archive, self.cluster_or_workgroup) if self.archive else self.path,
            search_path=() if kind == "athena" and self.search_path == _DEFAULT_PATH else self.search_path,
        )
        if log.archive:
            check_archive(f"{key}.archive", log)
        return log

    @property
    def cluster_or_workgroup(self) -> str:
        """Return the name of the other side of the API, "" for files."""
        return self.cluster or self.workgroup

    @property
    def warehouse(self) -> "QueryLog":
        """Return the log behind the API."""
        return replace(self, path="", archive="")

    @property
    def job_type(self) -> str:
        """Return the type of its jobs."""
        return JOB_TYPES[self.format]

    def __str__(self) -> str:
        """Return its location for messages."""
        if self.path:
            return redact(self.path)
        return f"{self.format} {self.cluster_or_workgroup}"


def check_logs(logs: Sequence[QueryLog]) -> None:
    """Check that logs go together. Raises `ConfigError`."""
    archives: dict[str, QueryLog] = {}
    for index, log in enumerate(logs):
        other = archives.setdefault(log.path, log) if log.archive else log
        if other is not log:
            problem = f"{log.path} is the archive of {other.namespace}: give each warehouse its own"
            raise ConfigError(f"query_log[{index}].archive", problem)
    for first, *others in group_by_warehouse(logs):
        for index, name in product(others, _OF_WAREHOUSE):
            if getattr(logs[index], name) != getattr(logs[first], name):
                problem = f"query_log[{first}] has the same namespace, and another value"
                raise ConfigError(f"query_log[{index}].{name}", problem)


def group_by_warehouse(logs: Sequence[QueryLog]) -> list[list[int]]:
    """Return the positions of the logs that are read as one: those of Redshift with one namespace.

    Their statements have ids of the warehouse. Those of other logs do not, or are in one workgroup only.
    """
    positions: dict[str | int, list[int]] = {}
    for index, log in enumerate(logs):
        positions.setdefault(log.namespace if log.format == "redshift" else index, []).append(index)
    return list(positions.values())


def archive_folder(archive: str, warehouse: str) -> str:
    """Return the folder of a cluster or workgroup in an archive, so that no two of them share one."""
    return f"{archive.rstrip('/')}/{warehouse}"


def check_archive(key: str, log: QueryLog) -> None:
    """Raise `ConfigError` if Redshift cannot write the archive."""
    if not log.archive.startswith("s3://"):  # UNLOAD takes no other spelling
        raise ConfigError(key, f"Redshift writes it: give s3://bucket/prefix, not {redact(log.archive)}")
    if not re.match(_ROLE, log.iam_role):
        raise ConfigError("iam_role", "expected default, or the ARN of a role")


def namespaces(logs: Sequence[QueryLog]) -> list[NamespaceSetting]:
    """Return the namespaces of the warehouses."""
    return [
        NamespaceSetting(f"query_log[{index}].namespace", log.namespace, "query_log", {"format": log.format})
        for index, log in enumerate(logs)
    ]


def retire_after(logs: Sequence[QueryLog]) -> int:
    """Return the number of runs after which a target is retired: 0 if a log never retires any."""
    numbers = [log.retire_after for log in logs]
    return max(numbers) if numbers and all(numbers) else 0


STATEMENTS = Kind(
    "a query log",
    "give its folder as query_log[].path",
    (("id", "session", "statement", "started"),),
)
VIEW = Kind(
    "an export of Redshift's system views",
    "give its folder as query_log[].path",
    (("query_id", "session_id", "query_text"),),
)
