"""Settings of a task group, and their resolution at run time."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any, NamedTuple

from lineage_merge.airflow import connections, upstream_tasks
from lineage_merge.airflow.attempts import Attempt, private_folder, try_folder
from lineage_merge.airflow.compat import (
    AirflowFailException,
    AirflowNotFoundException,
    base_hook,
)
from lineage_merge.model.errors import ConfigError, LineageMergeError

if TYPE_CHECKING:
    from lineage_merge.config import Config
    from lineage_merge.orchestration.stages import Step

# Keys of `merge`, the templated field that all tasks of a group share:
#   folder, artifacts       folder of node and edge files; empty `folder`: below `artifacts`, or local
#   run                     path segment of this DAG run and group
#   config                  path of the configuration file
#   dag_name, environment   empty: as in `config`
#   arguments               configuration keys of arguments of the group: as in the configuration, or as text
#   settings                further configuration keys, dotted (or YAML text)
#   policies                policy per kind of finding: `report_check.judge`
#   page                    address of the page, or ""
#   connections             ids by default id; None: the default, if `config` has no address
#   aws                     connection id
# After rendering, each may be the value of an XCom.
Merge = Mapping[str, Any]
# XCom of a build: the folder of its try.
FOLDER = "folder"


def root_folder(merge: Merge) -> str:
    """Return the folder of this group in this DAG run; each try of a build has its own subfolder."""
    folder, artifacts = (str(merge.get(name) or "").rstrip("/") for name in ("folder", "artifacts"))
    above = folder or (f"{artifacts}/runs" if artifacts else _private_folder())
    return f"{above}/{merge['run']}"


def _private_folder() -> str:
    try:
        return str(private_folder(Path(gettempdir(), "lineage_merge")))
    except ConfigError as error:
        raise AirflowFailException(error.message) from None


def attempt_of(step: "Step", merge: Merge, context: Mapping[str, Any]) -> Attempt:
    """Return this try of a step, which is equal before and after a deferral."""
    instance = context["ti"]
    parts = ("dag_id", "task_id", "run_id", "map_index", "try_number")
    name = "/".join(str(getattr(instance, part)) for part in parts)
    if step == "build":
        return Attempt(name, try_folder(root_folder(merge), instance.try_number))
    return Attempt(name, build_folder(context))


def share_folder(step: str, context: Mapping[str, Any], folder: str) -> None:
    """Push the folder of a build for load and report."""
    if step == "build":
        context["ti"].xcom_push(key=FOLDER, value=folder)


def build_folder(context: Mapping[str, Any]) -> str:
    """Return the folder of the group's build. Permanent failure if it is missing."""
    instance = context["ti"]
    build = sibling(instance.task_id, "build")
    folder = instance.xcom_pull(task_ids=build, key=FOLDER, map_indexes=instance.map_index)
    if not isinstance(folder, str):
        raise AirflowFailException(f"{build} returned no folder: clear that task")
    return folder


def sibling(task_id: str, step: str) -> str:
    """Return the id of another task of the same group."""
    group, dot, _ = task_id.rpartition(".")
    return f"{group}{dot}{step}"


def only_warns(merge: Merge, kind: str) -> bool:
    """Whether a finding of this kind only warns, by the policy of the group."""
    return (merge.get("policies") or {}).get(kind) == "warn"


class Resolved(NamedTuple):
    """The validated settings of a merge, as in a YAML file.

    `with_password`: the ids of connections whose password the environment contains, by source.
    """

    settings: dict[str, Any]
    config: "Config"
    with_password: Mapping[str, str]


@contextmanager
def resolve_settings(
    merge: Merge, task: Any, context: Mapping[str, Any], *, here: bool
) -> Iterator[Resolved]:
    """Yield the configuration of a step, from arguments of the group, connections, and file, in this order.

    `here`: the step runs on this machine, so its environment contains the passwords in the block. Raises
    `ConfigError`.
    """
    from lineage_merge.orchestration.cluster_entrypoint import as_text
    from lineage_merge.orchestration.configuration import CONFIGURATION

    with connections.environment(connections.aws(merge.get("aws"))):
        flags = {key: as_text(value) for key, value in _arguments(merge).items()}
        settings = CONFIGURATION.collect(merge.get("config") or None, flags=flags).settings
        connected = _apply_connections(merge, settings, task, context, here=here)
        if connected.settings:
            flags |= {key: as_text(value) for key, value in connected.settings.items()}
            settings = CONFIGURATION.collect(merge.get("config") or None, flags=flags).settings
        _select_upstream_jobs(settings, task, context)
        connections.add_run_to_history(settings, context)
        with connections.environment(connected.environment):
            yield Resolved(settings, CONFIGURATION.parse(settings), connected.with_password)


def _mapping(given: Any, name: str) -> Mapping[str, Any]:
    """Return a mapping, parsed if it is rendered text."""
    if isinstance(given, str) and given.strip():
        from lineage_merge.infra import yaml_text

        given = yaml_text.parse(given, "the rendered template", name)
    if given and not isinstance(given, Mapping):
        raise ConfigError(name, "must be a mapping")
    return given or {}


def _arguments(merge: Merge) -> dict[str, Any]:
    """Return the arguments of the group by dotted key, without empty ones. Raises `ConfigError`."""
    from lineage_merge.orchestration.configuration import CONFIGURATION

    known = {key.dotted: key for key in CONFIGURATION.settable}
    arguments = {name: merge.get(name) for name in ("dag_name", "environment")}
    for key, value in (merge.get("arguments") or {}).items():
        is_list = known[key].schema.get("items", {}).get("type") == "string"
        entries = value.split(",") if is_list and isinstance(value, str) else value
        arguments[key] = (
            [name for entry in entries or () if (name := str(entry).strip())] if is_list else value
        )
    for key, value in _mapping(merge.get("settings"), "settings").items():
        if key not in known:
            raise ConfigError(key, "is not a known key")
        arguments[key] = value
    return {key: value for key, value in arguments.items() if value not in (None, "", [], {}, ())}


def _apply_connections(
    merge: Merge, settings: Mapping[str, Any], task: Any, context: Mapping[str, Any], *, here: bool
) -> connections.SourceConnections:
    """Return settings from the group's connections, and from default connections for missing settings."""
    ids = merge.get("connections") or {}
    connected = connections.connect_sources(
        ids,
        settings,
        here=here,
        has_upstream_jobs=lambda: bool(upstream_tasks.glue_runs(task, context)),
        find=_connection,
    )
    named = ids.get(connections.GREMLIN)
    graph = settings.get("gremlin") or {}
    if named or not (isinstance(graph, Mapping) and "endpoint" in graph):
        connection = _connection(named or connections.GREMLIN, optional=False)
        connected.settings.update(connections.gremlin(connection))
    return connected


def _connection(name: str, optional: bool) -> Any:
    try:
        return base_hook().get_connection(name)
    except AirflowNotFoundException:
        if optional:
            return None
        raise ConfigError(
            "", f"no connection {name} in Airflow, and no address in the configuration"
        ) from None


def _select_upstream_jobs(settings: dict[str, Any], task: Any, context: Mapping[str, Any]) -> None:
    """Select the Glue jobs upstream in sources with a server, where the settings select none."""
    from lineage_merge.sources.registry import SOURCES

    for source in SOURCES:
        section = settings.get(source.key)
        support = source.airflow()
        selections = support.selections if support else ()
        if not selections or not isinstance(section, dict) or any(map(section.get, selections)):
            continue
        jobs = [run.job for run in upstream_tasks.glue_runs(task, context)]
        if not jobs:
            problem = (
                "missing: set names or labels, or add a GlueJobOperator upstream of the merge; '*' for all"
            )
            raise ConfigError(f"{source.key}.{selections[0]}", problem)
        section[selections[0]] = jobs


@contextmanager
def fail_if_permanent() -> Iterator[None]:
    """Fail the task without retries for permanent errors."""
    try:
        yield
    except LineageMergeError as error:
        from lineage_merge.orchestration.cluster_entrypoint import is_permanent

        if is_permanent(error):
            raise AirflowFailException(error.message) from None
        raise
