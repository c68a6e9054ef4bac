"""What a task group was given, and what it means when one of its tasks runs."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any, NamedTuple

from lineage_merge.model.errors import ConfigError, LineageMergeError
from lineage_merge.orchestration.airflow import connections, upstream_tasks
from lineage_merge.orchestration.airflow.attempts import Attempt, try_folder
from lineage_merge.orchestration.airflow.compat import (
    AirflowFailException,
    AirflowNotFoundException,
    base_hook,
)
from lineage_merge.orchestration.airflow.report_check import RETIRE_REFUSED

if TYPE_CHECKING:
    from lineage_merge.config import Config
    from lineage_merge.orchestration.stages import Step

# The keys of a group's `merge`, the one templated field that its tasks share:
#   folder, artifacts       texts: where node and edge files go; empty `folder`: below `artifacts`, or local
#   run                     the part of the path that belongs to this DAG run and group
#   config                  text
#   dag_name, environment   texts; empty: as `config` has them
#   applications            list of names, a text with commas, or None: the Glue jobs upstream
#   labels, dbt             as the configuration has them (or as its YAML), or None
#   settings                further keys of the configuration, dotted (or as YAML)
#   policies                what to do about findings, by kind: `verdict.judge`
#   page                    address of the page, or ""
#   arangodb, gremlin, aws  ids of connections; None: the default where `config` says nothing
# After rendering each may be what an XCom holds.
Merge = Mapping[str, Any]
# The XCom of a build: the folder of the try that filled it.
FOLDER = "folder"
# The key of `Merge` that names a connection, by the connection's default id.
_CONNECTION_OF = {connections.ARANGODB: "arangodb", connections.GREMLIN: "gremlin"}


def root_folder(merge: Merge) -> str:
    """Return the folder of this group in this DAG run; each try of a build has one of its own below."""
    folder, artifacts = (str(merge.get(name) or "").rstrip("/") for name in ("folder", "artifacts"))
    above = folder or (f"{artifacts}/runs" if artifacts else f"{gettempdir()}/lineage_merge")
    return f"{above}/{merge['run']}"


def attempt_of(step: "Step", merge: Merge, context: Mapping[str, Any]) -> Attempt:
    """Return this try of a step, the same before and after it was deferred."""
    instance = context["ti"]
    parts = ("dag_id", "task_id", "run_id", "map_index", "try_number")
    name = "/".join(str(getattr(instance, part)) for part in parts)
    if step == "build":
        return Attempt(name, try_folder(root_folder(merge), instance.try_number))
    return Attempt(name, build_folder(context))


def share_folder(step: str, context: Mapping[str, Any], folder: str) -> None:
    """Let load and report know which try's folder a build has filled."""
    if step == "build":
        context["ti"].xcom_push(key=FOLDER, value=folder)


def build_folder(context: Mapping[str, Any]) -> str:
    """Return the folder that the group's build has filled. Fails for good where it did not."""
    instance = context["ti"]
    build = sibling(instance.task_id, "build")
    found = instance.xcom_pull(task_ids=build, key=FOLDER, map_indexes=instance.map_index)
    if not isinstance(found, str):
        raise AirflowFailException(f"{build} left no folder: clear that task")
    return found


def sibling(task_id: str, step: str) -> str:
    """Return the id of another task of the same group."""
    group, dot, _ = task_id.rpartition(".")
    return f"{group}{dot}{step}"


def refusal_is_warning(merge: Merge) -> bool:
    """Whether a merge that would retire too much only warns; the graph stays as it is in any case."""
    return (merge.get("policies") or {}).get(RETIRE_REFUSED) == "warn"


class Resolved(NamedTuple):
    """The settings of a merge as a YAML file would hold them, checked."""

    settings: dict[str, Any]
    config: "Config"


def applications(merge: Merge) -> list[str] | None:
    """The applications that were named; None where none were."""
    given = merge.get("applications")
    if isinstance(given, str):
        return [name.strip() for name in given.split(",") if name.strip()] or None
    return [str(name) for name in given] if given else None


@contextmanager
def resolved(merge: Merge, task: Any, context: Mapping[str, Any], *, here: bool) -> Iterator[Resolved]:
    """The configuration of a step: what the group was given, connections, the file, in this order.

    `here`: the step runs on this machine, whose environment then has the passwords, for as long as
    the block lasts. Raises `ConfigError`.
    """
    from lineage_merge.orchestration.configuration import CONFIGURATION

    with connections.environment(connections.aws(merge.get("aws"))):
        flags = {key: _text(value) for key, value in _given(merge).items()}
        settings = CONFIGURATION.gather(merge.get("config") or None, flags=flags)
        reached = _connected(merge, settings, task, context, here=here)
        if reached.settings:
            flags |= {key: _text(value) for key, value in reached.settings.items()}
            settings = CONFIGURATION.gather(merge.get("config") or None, flags=flags)
        _add_applications(settings, task, context)
        with connections.environment(reached.environment):
            yield Resolved(settings, CONFIGURATION.parse(settings))


def _mapping(given: Any, name: str) -> Mapping[str, Any]:
    """A mapping, or the text that a template made of one."""
    if isinstance(given, str) and given.strip():
        from lineage_merge.infra import yaml_text

        given = yaml_text.parse(given, name, "the rendered template")
    if given and not isinstance(given, Mapping):
        raise ConfigError(name, "expected a mapping")
    return given or {}


def _text(value: Any) -> str:
    from lineage_merge.orchestration.cluster_entrypoint import as_text

    return as_text(value)


def _given(merge: Merge) -> dict[str, Any]:
    from lineage_merge.orchestration.configuration import CONFIGURATION

    given: dict[str, Any] = {
        "dag_name": merge.get("dag_name"),
        "environment": merge.get("environment"),
        "spline.applications": applications(merge),
        "spline.labels": merge.get("labels"),
        "dbt": merge.get("dbt"),
    }
    known = {key.dotted for key in CONFIGURATION.settable}
    for key, value in _mapping(merge.get("settings"), "settings").items():
        if key not in known:
            raise ConfigError(key, "is not a known key")
        given[key] = value
    return {key: value for key, value in given.items() if value not in (None, "", [], {}, ())}


def _connected(
    merge: Merge, settings: Mapping[str, Any], task: Any, context: Mapping[str, Any], *, here: bool
) -> connections.ConnectionSettings:
    """Settings from connections: those that the group names, and defaults for what the settings lack."""
    from lineage_merge.orchestration.airflow import source_connections
    from lineage_merge.sources.registry import SOURCES

    found = connections.ConnectionSettings({}, {})
    for source in SOURCES:
        named = merge.get(_CONNECTION_OF.get(source.connection, ""))
        need = source_connections.need(
            source,
            settings,
            named=bool(named),
            has_upstream_jobs=lambda: bool(upstream_tasks.glue_runs(task, context)),
        )
        if need != "none":
            connection = _connection(named, source.connection, optional=need == "optional")
            if connection is not None:
                found = connections.arangodb(connection, here=here)
    graph = settings.get("gremlin") or {}
    if merge.get("gremlin") or not (isinstance(graph, Mapping) and "endpoint" in graph):
        connection = _connection(merge.get("gremlin"), connections.GREMLIN, optional=False)
        found.settings.update(connections.gremlin(connection).settings)
    return found


def _connection(named: str | None, default: str, *, optional: bool) -> Any:
    try:
        return base_hook().get_connection(named or default)
    except AirflowNotFoundException:
        if optional and not named:
            return None
        raise ConfigError(
            "", f"no connection {named or default} in Airflow, and no configuration says it"
        ) from None


def _add_applications(settings: dict[str, Any], task: Any, context: Mapping[str, Any]) -> None:
    spline = settings.get("spline")
    if not isinstance(spline, dict) or spline.get("applications") or spline.get("labels"):
        return
    jobs = [found.job for found in upstream_tasks.glue_runs(task, context)]
    if not jobs:
        problem = "which? name them or their labels, or put a GlueJobOperator before the merge; '*' means all"
        raise ConfigError("spline.applications", problem)
    spline["applications"] = jobs


@contextmanager
def fail_if_permanent() -> Iterator[None]:
    """An error that will be the same again fails the task for good; others may be retried."""
    try:
        yield
    except LineageMergeError as error:
        from lineage_merge.orchestration.cluster_entrypoint import is_permanent

        if is_permanent(error):
            raise AirflowFailException(error.message) from None
        raise
