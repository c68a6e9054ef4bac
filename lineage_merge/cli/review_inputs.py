"""What `review` and `sql` compare: the graph that is named, SQL files, the dbt project, their namespace."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lineage_merge.cli.query_options import QueryOptions
from lineage_merge.model.errors import ConfigError
from lineage_merge.query.selection import EMBEDDED
from lineage_merge.query.session import require_graph_file

if TYPE_CHECKING:
    from lineage_merge.config import Config
    from lineage_merge.questions.graph import LineageGraph
    from lineage_merge.review.sql_versions import SqlFolders
    from lineage_merge.sources.dbt.settings import DbtProject

MANIFEST = "target/manifest.json"


@contextmanager
def open_named_graph(
    options: QueryOptions, config: "Config", on_progress: Any
) -> "Iterator[LineageGraph | None]":
    """Open the graph that options or a configuration name; otherwise yield None.

    That of a configuration without an endpoint is the embedded graph, as for every question, if there is one.
    """
    require_graph_file(options.graph_file, options.demo)
    is_named = bool(options.folder or options.graph_file or options.endpoint not in (None, EMBEDDED))
    if not is_named and (options.endpoint or isinstance(options.file, Path)):
        is_named = config.gremlin.endpoint != EMBEDDED or _has_default_graph()
    if not is_named:
        yield None
        return
    from lineage_merge.questions.backends.opening import open_graph

    with open_graph(options.folder or config.gremlin, on_progress, options.graph_file) as graph:
        yield graph


def _has_default_graph() -> bool:
    from lineage_merge.infra.graph_files import default_graph_file

    return default_graph_file().exists()


def with_environment(config: "Config", environment: str | None, graph: "LineageGraph | None") -> "Config":
    """Return the configuration with the environment of the graph, if none is set.

    Raises `ConfigError` if the graph has several.
    """
    if graph is None or environment is not None:
        return config
    environments = graph.environments()
    if len(environments) > 1:
        raise ConfigError("environment", f"the graph has {', '.join(environments)}: set --environment")
    return replace(config, environment=environments[0]) if environments else config


def sql_folders(
    paths: tuple[str, ...],
    config: "Config",
    graph: "LineageGraph | None",
    dag: str | None,
    *,
    dialect: str | None,
    namespace: str | None,
    variables: tuple[str, ...],
    project: str | None = None,
    schema: tuple[str, ...] = (),
    database: str | None = None,
) -> "tuple[SqlFolders, tuple[str, ...]]":
    """Return the folders, and notes: PATHS with their namespace, or those of the configuration."""
    from lineage_merge.config import parse_default_schema
    from lineage_merge.merge.dataset_resolver import from_config
    from lineage_merge.review.sql_versions import SqlFolders
    from lineage_merge.sources.settings import check_dialect
    from lineage_merge.sources.sql.files import preflight
    from lineage_merge.sources.sql.settings import SqlFiles, default_namespace
    from lineage_merge.sources.sql.settings import project_of as sql_project

    settings: tuple[SqlFiles, ...] = config.sources.get("sql", ())
    notes: tuple[str, ...] = ()
    if paths:
        if not dialect:
            raise ConfigError("", "--dialect is missing: hive, spark, redshift or another")
        dialect = dialect.lower()
        check_dialect("--dialect", dialect)
        values = dict(map(_variable, variables))
        chosen = warehouse_namespace(
            dialect, namespace, default_namespace(dialect), config, has_graph=graph is not None
        )
        notes = chosen.notes
        settings = tuple(
            SqlFiles(path, dialect, chosen.text, project or sql_project(path), schema, values)
            for path in paths
        )
        if database:
            default = dict([parse_default_schema("--database", chosen.text, database)])
            schemas = {**config.merge.default_schemas, **default}
            config = replace(config, merge=replace(config.merge, default_schemas=schemas))
    elif not settings:
        raise ConfigError("", "no files: set PATHS, or sql in the configuration")
    for setting in settings:
        preflight([replace(setting, path=path) for path in setting.schema])
    for setting in settings:
        check_dialect("dialect", setting.dialect)
    return SqlFolders(settings, from_config(config), dag or config.dag_name), notes


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise ConfigError("", "--var: must be NAME=VALUE")
    return name, value


def project_of(configured: Sequence["DbtProject"], head: str | None, namespace: str | None) -> "DbtProject":
    """Return the project after the change: of the configuration, unless the command line names it.

    Its namespace is "" if neither names it. Raises `ConfigError` if it is ambiguous.
    """
    from lineage_merge.config.section import parse_namespace
    from lineage_merge.sources.dbt.settings import DbtProject

    if namespace:
        namespace = parse_namespace(namespace, "--namespace")
    same = [dbt_project for dbt_project in configured if head in (None, dbt_project.manifest)] or configured
    if len(same) > 1 and not head:
        places = ", ".join(project.manifest for project in same)
        raise ConfigError("--head", f"the configuration has several projects: {places}. Fix: set --head")
    if len(same) > 1:
        project = _common_settings(same, namespace)
    else:
        project = same[0] if same else DbtProject(MANIFEST, "")
    return replace(project, manifest=head or project.manifest, namespace=namespace or project.namespace)


def _common_settings(projects: Sequence["DbtProject"], namespace: str | None) -> "DbtProject":
    """Return the namespace and target that several projects share, for a manifest that is that of none."""
    from lineage_merge.sources.dbt.settings import DbtProject

    projects = [project for project in projects if project.namespace == namespace] or projects
    namespaces = sorted({project.namespace for project in projects})
    if not namespace and len(namespaces) > 1:
        problem = f"is missing: the configuration's projects have several: {', '.join(namespaces)}"
        raise ConfigError(
            "--namespace", f"{problem}. Fix: set --namespace, or --head to a configured manifest"
        )
    targets = {project.target for project in projects}
    if len(targets) > 1:
        places = ", ".join(project.manifest for project in projects)
        problem = "the configuration's projects have different targets"
        raise ConfigError("--head", f"{problem}. Fix: set --head to one of {places}")
    return DbtProject(MANIFEST, namespaces[0], target=targets.pop())


class Namespace(NamedTuple):
    """A namespace. `is_placeholder`: a form of its platform, for answers that need no graph."""

    text: str
    is_placeholder: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        """Return a note on a placeholder."""
        fix = "set --namespace to that of the warehouse"
        return (f"namespace {self.text} is a placeholder. Fix: {fix}",) if self.is_placeholder else ()


def warehouse_namespace(
    platform: str, given: str | None, default: str | None, config: "Config", *, has_graph: bool
) -> Namespace:
    """Return the namespace of a platform, named by its dialect or adapter: `given`, or the `default`.

    Without both, the only one of the platform in the configuration. Raises `ConfigError` if there are
    several, or if there is none and the names must be those of a graph.
    """
    from lineage_merge.config.section import parse_namespace
    from lineage_merge.naming import namespace_form

    if given:
        return Namespace(parse_namespace(given, "--namespace", platform))
    if default:
        return Namespace(default)
    form = namespace_form(platform)
    configured = _list_configured(config, form)
    if len(configured) > 1:
        raise ConfigError("--namespace", f"is missing: the configuration has {', '.join(configured)}")
    if configured:
        return Namespace(configured[0])
    if has_graph:
        raise ConfigError("--namespace", f"is missing: that of the tables in the graph, such as {form}")
    return Namespace(form, is_placeholder=True)


def _list_configured(config: "Config", form: str) -> list[str]:
    """Return the namespaces of the configuration with the scheme of a form."""
    scheme = form.partition(":")[0]
    sources = (*config.sources.get("dbt", ()), *config.sources.get("sql", ()))
    namespaces = {*config.merge.default_schemas, *(source.namespace for source in sources)}
    return sorted(namespace for namespace in namespaces if namespace.partition(":")[0] == scheme)
