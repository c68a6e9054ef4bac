"""The namespace of a warehouse in commands on files: given, of the configuration, or a placeholder."""

from typing import TYPE_CHECKING, NamedTuple

from lineage_merge.model.errors import ConfigError

if TYPE_CHECKING:
    from lineage_merge.config import Config


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
    from lineage_merge.config.section import namespace
    from lineage_merge.naming import namespace_form

    if given:
        return Namespace(namespace("--namespace", given, platform))
    if default:
        return Namespace(default)
    form = namespace_form(platform)
    configured = _configured(config, form)
    if len(configured) > 1:
        raise ConfigError("--namespace", f"is missing: the configuration has {', '.join(configured)}")
    if configured:
        return Namespace(configured[0])
    if has_graph:
        raise ConfigError("--namespace", f"is missing: that of the tables in the graph, such as {form}")
    return Namespace(form, is_placeholder=True)


def _configured(config: "Config", form: str) -> list[str]:
    """Return the namespaces of the configuration with the scheme of a form."""
    scheme = form.partition(":")[0]
    sources = (*config.sources.get("dbt", ()), *config.sources.get("sql", ()))
    namespaces = {*config.merge.default_schemas, *(source.namespace for source in sources)}
    return sorted(namespace for namespace in namespaces if namespace.partition(":")[0] == scheme)
