"""Policies in the configuration: rules on lineage that the command `check` verifies."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

from lineage_merge.infra.setting import ONE_OR_MORE, Form, Texts, declare
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
# By the key that determines the kind of a policy: the key that goes with it, and the class.
_KINDS: Mapping[str, tuple[str, type[PolicyRule]]] = {
    "must_not_reach": ("tag", TagRule),
    "must_not_read": ("layer", LayerRule),
    "must_have": ("datasets", RequirementRule),
    "must_be_fed_by": ("datasets", SourceRule),
    "must_be_updated_within": ("datasets", UpdateRule),
}
_EXAMPLES = {"tag": "tag: pii", "layer": "layer: mart", "datasets": 'datasets: ["*.marts.*"]'}


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
        return next(kind for kind, (_, rule) in _KINDS.items() if isinstance(self.rule, rule))


_Requirement = Annotated[
    str,
    Form(
        "^(owner|description|test|freshness|contract|tag|tag:.+)$",
        "owner, description, test, freshness, contract, tag or tag:NAME",
    ),
]


def _parse_age(text: str, key: str) -> int:
    try:
        return times.parse_age(text)
    except ValueError as error:
        raise ConfigError(key, str(error)) from None


@dataclass(frozen=True, slots=True)
class WrittenPolicy:
    """A policy as it is written: the keys of all kinds."""

    name: str = declare(
        "name of the policy, unique, in results and for --policy",
        example="no-pii-in-marts",
        form=Form("^[A-Za-z0-9_.-]+$", "letters, digits and _ . - only"),
    )
    description: str = declare(
        "why the policy exists, printed with its violations", "", "marts are open to all analysts"
    )
    severity: Severity = declare(
        "error: violations cause exit code 14; warning: they are only listed", "error"
    )
    exceptions: Texts = declare(
        "globs of datasets, or of dataset#column in a policy of a tag, that the policy accepts",
        (),
        ["*.marts.secure_*"],
        name="except",
    )
    tag: Texts = declare("tag of columns and datasets, with must_not_reach; one or several", (), "pii")
    must_not_reach: Texts = declare(
        "globs of datasets, or of dataset#column, whose columns must not carry the tag", (), ["*.marts.*"]
    )
    layer: str = declare("layer of query.layers, with must_not_read", "", "mart")
    must_not_read: Texts = declare(
        "layers of query.layers that the layer must not read, directly or through datasets without a layer",
        (),
        "raw",
    )
    datasets: Texts = declare(
        "globs of datasets, with must_have, must_be_fed_by or must_be_updated_within", (), ["*.marts.*"]
    )
    must_have: tuple[_Requirement, ...] = declare(
        "what each dataset must have: owner, description, test (of it or a column), freshness (a check), "
        "contract (enforced by dbt), tag, or tag:NAME",
        (),
        ["owner", "description", "test"],
        form=ONE_OR_MORE,
    )
    must_be_fed_by: Texts = declare(
        "datasets or globs that must each feed the dataset, directly or through others",
        (),
        ["s3://lake/sales"],
    )
    must_be_updated_within: int | None = declare(
        "maximum age of each dataset, in minutes, hours, days, weeks or years, such as 90m, 36h, 1d or 2w; "
        "an expectation of lineage-merge freshness",
        None,
        "36h",
        form=Form(written=str, parse=_parse_age),
    )

    def complete(self, key: str) -> Policy:
        """Return the policy."""
        return Policy(self.name, self._rule(key), self.description, self.severity, self.exceptions)

    def _rule(self, key: str) -> PolicyRule:
        ruling: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(self)[4:]}
        given = {name: value for name, value in ruling.items() if value not in ((), "", None)}
        kinds = [kind for kind in _KINDS if kind in given]
        if not kinds:
            raise ConfigError(key, f"requires {', '.join([*_KINDS][:-1])} or {[*_KINDS][-1]}")
        if len(kinds) > 1:
            raise ConfigError(key, f"{' and '.join(kinds)} are mutually exclusive: write one policy for each")
        (kind,) = kinds
        subject, rule = _KINDS[kind]
        errors = ErrorCollector()
        if subject not in given:
            problem = f"is missing: {kind} requires it; example: {_EXAMPLES[subject]}"
            errors.errors.append(ConfigError(f"{key}.{subject}", problem))
        for other in sorted(given.keys() - {kind, subject}):
            errors.errors.append(ConfigError(f"{key}.{other}", f"is not a key of a policy with {kind}"))
        errors.raise_errors()
        return rule(given[subject], given[kind])


def find_errors(policies: Iterable[Mapping[str, Any]], layers: Mapping[str, Any]) -> Iterator[ConfigError]:
    """Yield duplicate names of policies as they are written, and layers that are not declared."""
    names: set[str] = set()
    for index, written in enumerate(policies):
        key = f"policies[{index}]"
        if written["name"] in names:
            yield ConfigError(f"{key}.name", f"duplicate name: {written['name']}")
        names.add(written["name"])
        if {"layer", "must_not_read"} <= written.keys():
            yield from _find_unknown_layers(key, written["layer"], written["must_not_read"], layers)


def _find_unknown_layers(
    key: str, layer: str, others: str | list[str], layers: Mapping[str, Any]
) -> Iterator[ConfigError]:
    if not layers:
        example = 'query: {layers: {raw: "s3://*-raw/*", mart: "*.marts.*"}}'
        yield ConfigError(f"{key}.layer", f"no layers are declared; example: {example}")
        return
    must_not_read = [others] if isinstance(others, str) else others
    for where, name in (("layer", layer), *(("must_not_read", other) for other in must_not_read)):
        if name not in layers:
            known = did_you_mean(name, layers) or f"; query.layers has {', '.join(layers)}"
            yield ConfigError(f"{key}.{where}", f"unknown layer: {name}{known}")
