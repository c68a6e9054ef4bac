"""Questions about tags along lineage, and about policies."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from lineage_merge.model.errors import ConfigError
from lineage_merge.query.questions import Questions

if TYPE_CHECKING:
    from lineage_merge.config import Policy
    from lineage_merge.graph_format.elements import Vertex
    from lineage_merge.query.tag_results import PolicyResult, TagCountsResult, TagsResult


class TagQuestions(Questions):
    """Questions about tags and policies; `propagation` and `policies` are those of the configuration."""

    def tags(
        self, name: str | None = None, *, tag: str | None = None, own: bool = False
    ) -> "TagsResult | TagCountsResult":
        """Return what carries tags at a dataset or column, or everywhere; without both, numbers by tag.

        `own`: without inherited tags.
        """
        from lineage_merge.query.tag_results import TagCountsResult, TagsResult
        from lineage_merge.questions.tag_answers import counts, paths, selected
        from lineage_merge.questions.tag_propagation import propagate

        scope = self._session.scope
        of = self._dataset_or_column(name) if name else None
        propagation = self._session.config.propagation
        found = propagate(self._graph, [tag] if tag else None, propagation, scope.environment, scope.dag)
        chosen = selected(found, of, own=own)
        note = "" if chosen.carriers or chosen.stops else self._no_tags(of, tag)
        if not (name or tag):
            return TagCountsResult(question="tags", scope=scope, note=note, counts=counts(chosen))
        return TagsResult(
            question="tags",
            scope=scope,
            graph=paths(found, [*chosen.carriers, *chosen.stops]),
            note=note,
            propagated=found,
            chosen=chosen,
            of=of,
            tag=tag,
        )

    def check(self, policies: Iterable[str] = (), *, now: int | None = None) -> "PolicyResult":
        """Return the violations of policies of the configuration, by default of all.

        `now`: the time for ages, in ms since 1970. Violations are an answer, not an error. Raises
        `ConfigError` if a policy is unknown, or none is configured.
        """
        from lineage_merge.query.tag_results import PolicyResult
        from lineage_merge.questions.layers import Layer
        from lineage_merge.questions.policies import check_policies

        config, scope = self._session.config, self._session.scope
        found = check_policies(
            self._graph,
            _selected(config.policies, tuple(policies)),
            layers=[Layer(name, globs) for name, globs in config.query.layers.items()],
            propagation=config.propagation,
            environment=scope.environment,
            dag=scope.dag,
            now=now,
        )
        note = "" if any(each.violations for each in found.results) else f"no violations: {found.summary}"
        if not any(each.checked for each in found.results):
            note = self._session.empty_note(f"{note}; nothing was checked")
        return PolicyResult(question="check", scope=scope, graph=found.subgraph, note=note, check=found)

    def _no_tags(self, of: "Vertex | None", tag: str | None) -> str:
        """Return the note of an empty answer. Raises `NotFound` if the environment or DAG is unknown."""
        from lineage_merge.graph_format.elements import COLUMN
        from lineage_merge.graph_format.schema import DATASET_LABELS
        from lineage_merge.model.errors import did_you_mean
        from lineage_merge.questions.names import check_scope

        scope = self._session.scope
        check_scope(self._graph, scope.environment, scope.dag)
        if of is not None:
            return f"{of.title} carries no tag" if tag is None else f"{of.title} does not carry the tag {tag}"
        if tag is None:
            hint = self._session.empty_hint()
            return f"no tags; {hint}" if hint else "no tags"
        tagged = self._graph.tagged((*DATASET_LABELS, COLUMN), scope.environment, scope.dag)
        known = {name for each in tagged for name in each.properties["tags"]}
        where = f" of DAG {scope.dag}" if scope.dag else ""
        return f"no dataset or column{where} has the tag {tag}{did_you_mean(tag, known)}"


def _selected(policies: "Sequence[Policy]", names: Sequence[str]) -> "list[Policy]":
    """Return the policies of these names, all without names. Raises `ConfigError`."""
    if not policies:
        example = '[{name: no-pii-in-marts, tag: pii, must_not_reach: ["*.marts.*"]}]'
        raise ConfigError("policies", f"is missing; example: {example}")
    known = {each.name: each for each in policies}
    for name in names:
        if name not in known:
            from lineage_merge.model.errors import did_you_mean

            similar = did_you_mean(name, known) or f"; policies: {', '.join(known)}"
            raise ConfigError("--policy", f"unknown policy: {name}{similar}")
    return [each for each in policies if not names or each.name in names]
