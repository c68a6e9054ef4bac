"""The ``query_log`` configuration section, one entry per warehouse, and the kinds of documents."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import product
from typing import Any, Literal

from lineage_merge.config.section import namespace
from lineage_merge.infra.redaction import redact
from lineage_merge.model.errors import ConfigError, ErrorCollector
from lineage_merge.sources.kinds import Kind
from lineage_merge.sources.settings import NamespaceSetting, lookback

Format = Literal["redshift", "athena", "statements"]
UserNames = Literal["off", "hashed", "groups"]
JOB_TYPES: Mapping[Format, str] = {"redshift": "redshift", "athena": "athena", "statements": "query_log"}
_PLATFORMS: Mapping[Format, str] = {"redshift": "redshift", "athena": "athena", "statements": ""}
_TEXTS = (
    *("cluster", "workgroup", "database", "db_user", "secret_arn", "region"),
    *("user_salt_env", "user_salt_secret", "archive_region"),
)
# What logs of one warehouse have in common.
_OF_WAREHOUSE = (
    *("dialect", "search_path", "lookback", "usage"),
    *("users", "user_groups", "user_salt_env", "user_salt_secret"),
)
_ROLE = re.compile(r"default|arn:[A-Za-z0-9:/_+=,.@-]+")
_DEFAULT_PATH = ("$user", "public")


@dataclass(frozen=True, slots=True)
class QueryLog:
    """A warehouse's history of statements, in files (`path`) or behind an API.

    `cluster` (provisioned) or `workgroup` (serverless, Athena) with `database` name the other side of the
    API; `db_user` and `secret_arn` are how the Data API logs in. With an `archive`, `path` is its folder that
    `archive-history` writes for this cluster, by `iam_role`, to a bucket in `archive_region`. `usage`: reads
    are counted; `users`: how the graph names those who read. `user_groups`: patterns of user names with a
    group, the first counts.
    """

    format: Format
    namespace: str
    dialect: str
    path: str = ""
    search_path: tuple[str, ...] = _DEFAULT_PATH
    cluster: str = ""
    workgroup: str = ""
    database: str = ""
    db_user: str = ""
    secret_arn: str = ""
    region: str = ""
    lookback: timedelta = timedelta(days=30)
    retire_after: int = 3
    usage: bool = True
    users: UserNames = "off"
    user_groups: tuple[tuple[str, str], ...] = ()
    user_salt_env: str = ""
    user_salt_secret: str = ""
    archive: str = ""
    iam_role: str = "default"
    archive_region: str = ""

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


def parse(settings: Sequence[Any]) -> tuple[QueryLog, ...]:
    """Parse settings that fit the schema. Raises `ConfigError`."""
    errors = ErrorCollector()
    logs: list[QueryLog] = []
    for index, entry in enumerate(settings):
        with errors.collecting():
            logs.append(_entry(f"query_log[{index}]", entry))
    errors.raise_errors()
    archives: dict[str, QueryLog] = {}
    for index, log in enumerate(logs):
        other = archives.setdefault(log.path, log) if log.archive else log
        if other is not log:
            problem = f"{log.path} is the archive of {other.namespace}: give each warehouse its own"
            raise ConfigError(f"query_log[{index}].archive", problem)
    for first, *others in by_warehouse(logs):
        for index, name in product(others, _OF_WAREHOUSE):
            if getattr(logs[index], name) != getattr(logs[first], name):
                problem = f"query_log[{first}] has the same namespace, and another value"
                raise ConfigError(f"query_log[{index}].{name}", problem)
    return tuple(logs)


def by_warehouse(logs: Sequence[QueryLog]) -> list[list[int]]:
    """Return the positions of the logs that are read as one: those of Redshift with one namespace.

    Their statements have ids of the warehouse. Those of other logs do not, or are in one workgroup only.
    """
    positions: dict[str | int, list[int]] = {}
    for index, log in enumerate(logs):
        positions.setdefault(log.namespace if log.format == "redshift" else index, []).append(index)
    return list(positions.values())


def _entry(key: str, entry: Mapping[str, Any]) -> QueryLog:
    kind: Format = entry["format"]
    has_api = bool(entry.keys() & {"cluster", "workgroup"})
    if kind == "statements" and not (entry.get("path") and entry.get("dialect")):
        raise ConfigError(key, "give path and dialect for format statements")
    if bool(entry.get("path")) == has_api:
        raise ConfigError(key, "give either path, or cluster or workgroup")
    if kind == "redshift" and has_api and not entry.get("database"):
        raise ConfigError(f"{key}.database", "required with cluster or workgroup")
    if kind == "athena" and entry.get("path"):
        raise ConfigError(f"{key}.path", "Athena is read through its API: give workgroup")
    users: UserNames = entry.get("users", "off")
    if users == "hashed" and ("user_salt_env" in entry) == ("user_salt_secret" in entry):
        raise ConfigError(f"{key}.users", "hashed: give either user_salt_env or user_salt_secret")
    if users == "groups" and not entry.get("user_groups"):
        raise ConfigError(f"{key}.users", "groups: give user_groups")
    archive = entry.get("archive", "")
    if archive and not (kind == "redshift" and has_api):
        raise ConfigError(f"{key}.archive", "only for Redshift with cluster or workgroup")
    warehouse = entry.get("cluster") or entry.get("workgroup", "")
    log = QueryLog(
        format=kind,
        namespace=namespace(
            f"{key}.namespace", entry["namespace"], _PLATFORMS[kind] or entry["dialect"].lower()
        ),
        dialect=entry.get("dialect", kind).lower(),
        path=archive_folder(archive, warehouse) if archive else entry.get("path", ""),
        archive=archive,
        iam_role=entry.get("iam_role", "default"),
        search_path=tuple(entry.get("search_path", () if kind == "athena" else _DEFAULT_PATH)),
        lookback=lookback(entry.get("lookback", 30), f"{key}.lookback"),
        retire_after=int(entry.get("retire_after", 3)),
        usage=entry.get("usage", True),
        users=users,
        user_groups=tuple(entry.get("user_groups", {}).items()),
        **{name: entry.get(name, "") for name in _TEXTS},
    )
    if archive:
        check_archive(f"{key}.archive", log)
    return log


def archive_folder(archive: str, warehouse: str) -> str:
    """Return the folder of a cluster or workgroup in an archive, so that no two of them share one."""
    return f"{archive.rstrip('/')}/{warehouse}"


def check_archive(key: str, log: QueryLog) -> None:
    """Raise `ConfigError` if Redshift cannot write the archive."""
    if not log.archive.startswith("s3://"):  # UNLOAD takes no other spelling
        raise ConfigError(key, f"Redshift writes it: give s3://bucket/prefix, not {redact(log.archive)}")
    if not _ROLE.fullmatch(log.iam_role):
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
