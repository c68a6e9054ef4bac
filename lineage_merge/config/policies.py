"""Policies in the configuration: rules on lineage that the command `check` verifies."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lineage_merge.config.section import locations
from lineage_merge.model import times
from lineage_merge.model.errors import ConfigError, ErrorCollector, did_you_mean

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class TagRule:
    """No column of these datasets, or of `dataset#column`, carries one of the tags."""

    tags: tuple[str, ...]
    must_not_reach: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LayerRule:
    """The layer reads none of the other layers, directly or through datasets without a layer."""

    layer: str
    must_not_read: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RequirementRule:
    """Each dataset has all of these: owner, description, test, freshness, contract, tag, tag:NAME."""

    datasets: tuple[str, ...]
    must_have: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SourceRule:
    """Each dataset is fed by all of these sources, directly or through other datasets."""

    datasets: tuple[str, ...]
    must_be_fed_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UpdateRule:
    """The last update of each dataset is at most so long ago (in ms)."""

    datasets: tuple[str, ...]
    within_ms: int


PolicyRule = TagRule | LayerRule | RequirementRule | SourceRule | UpdateRule
# By the key that determines the kind of a policy: the key that goes with it, the class, the parsers of both.
_KINDS: Mapping[str, tuple[str, type[PolicyRule], Callable[[Any], Any], Callable[[Any], Any]]] = {
    "must_not_reach": ("tag", TagRule, locations, locations),
    "must_not_read": ("layer", LayerRule, str, locations),
    "must_have": ("datasets", RequirementRule, locations, locations),
    "must_be_fed_by": ("datasets", SourceRule, locations, locations),
    "must_be_updated_within": ("datasets", UpdateRule, locations, times.parse_age),
}
_EXAMPLES = {"tag": "tag: pii", "layer": "layer: mart", "datasets": 'datasets: ["*.marts.*"]'}
_COMMON = frozenset({"name", "description", "severity", "except"})


@dataclass(frozen=True, slots=True)
class Policy:
    """A rule with its name. `exceptions`: globs of what the policy accepts."""

    name: str
    rule: PolicyRule
    description: str = ""
    severity: Severity = "error"
    exceptions: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The key that determines the kind, such as `must_not_reach`."""
        return next(kind for kind, (_, rule, *_) in _KINDS.items() if isinstance(self.rule, rule))


def parse_policies(settings: Mapping[str, Any]) -> tuple[Policy, ...]:
    """Return the policies of schema-valid settings. Raises `ConfigError` with all findings."""
    errors = ErrorCollector()
    layers = settings.get("query", {}).get("layers", {})
    names: set[str] = set()
    policies: list[Policy] = []
    for index, entry in enumerate(settings.get("policies", ())):
        key = f"policies[{index}]"
        name = entry["name"]
        if name in names:
            errors.errors.append(ConfigError(f"{key}.name", f"duplicate name: {name}"))
        names.add(name)
        rule = errors.get(lambda: _rule(key, entry), None)  # noqa: B023 (called here)
        if isinstance(rule, LayerRule):
            errors.errors += _unknown_layers(key, rule, layers)
        if rule is not None:
            exceptions = locations(entry.get("except", ()))
            severity = entry.get("severity", "error")
            policies.append(Policy(name, rule, entry.get("description", ""), severity, exceptions))
    errors.raise_errors()
    return tuple(policies)


def _rule(key: str, entry: Mapping[str, Any]) -> PolicyRule:
    kinds = [kind for kind in _KINDS if kind in entry]
    if not kinds:
        raise ConfigError(key, f"requires {', '.join([*_KINDS][:-1])} or {[*_KINDS][-1]}")
    if len(kinds) > 1:
        raise ConfigError(key, f"{' and '.join(kinds)} are mutually exclusive: write one policy for each")
    (kind,) = kinds
    subject, rule, parse_subject, parse = _KINDS[kind]
    errors = ErrorCollector()
    if subject not in entry:
        errors.errors.append(
            ConfigError(f"{key}.{subject}", f"is missing: {kind} requires it; example: {_EXAMPLES[subject]}")
        )
    for other in sorted(entry.keys() - _COMMON - {kind, subject}):
        errors.errors.append(ConfigError(f"{key}.{other}", f"is not a key of a policy with {kind}"))
    errors.raise_errors()
    try:
        return rule(parse_subject(entry[subject]), parse(entry[kind]))
    except ValueError as error:
        raise ConfigError(f"{key}.{kind}", str(error)) from None


def _unknown_layers(key: str, rule: LayerRule, layers: Mapping[str, Any]) -> Sequence[ConfigError]:
    named = [(f"{key}.layer", rule.layer), *((f"{key}.must_not_read", layer) for layer in rule.must_not_read)]
    if not layers:
        example = 'query: {layers: {raw: "s3://*-raw/*", mart: "*.marts.*"}}'
        return [ConfigError(named[0][0], f"no layers are declared; example: {example}")]
    return [
        ConfigError(of, f"unknown layer: {name}{did_you_mean(name, layers) or known}")
        for of, name in named
        if name not in layers
        for known in [f"; query.layers has {', '.join(layers)}"]
    ]
