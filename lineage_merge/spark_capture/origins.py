"""Origins of each column of a captured DataFrame, down to columns of datasets and constants."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lineage_merge.column_lineage.transformations import Transformation
from lineage_merge.column_lineage.value_graph import Value
from lineage_merge.infra.redaction import redact, redact_sql
from lineage_merge.merge.dataset_resolver import DatasetResolver
from lineage_merge.model.elements import Reference, dot_path, path_of
from lineage_merge.model.graph_walks import parts_first
from lineage_merge.sources.spline.columns.attributes import Attributes
from lineage_merge.sources.spline.columns.documents import PlanColumns
from lineage_merge.sources.spline.columns.expressions import ExpressionTexts
from lineage_merge.sources.spline.columns.lineage import column_lineage


@dataclass(frozen=True, slots=True)
class Origin:
    """A value: its `name`, its `expression`, and the values `of` which it is computed.

    A source's column has a `dataset` (path or table) and no expression. A renamed value is the value itself.
    """

    name: str
    expression: str = ""
    dataset: str = ""
    of: tuple["Origin", ...] = field(default=(), repr=False)

    @property
    def text(self) -> str:
        """Return ``1 AS a``, ``s3://tickit-raw/sales#pricepaid``."""
        if self.dataset:
            return f"{self.dataset}#{self.name}"
        return f"{self.expression} AS {self.name}" if self.expression else self.name

    def lines(self) -> Iterator[str]:
        """Yield the value as a tree; values that are used several times are expanded once."""
        yield self.name
        opened: set[int] = set()
        known = self.text if self.dataset else self.expression
        waiting = [(known or ("one of" if self.of else "not in the plan"), self, 0)]
        while waiting:
            text, origin, depth = waiting.pop()
            seen = bool(origin.of) and id(origin) in opened
            yield f"{'    ' * depth}└── {text}{' (above)' if seen else ''}"
            if not seen:
                opened.add(id(origin))
                waiting.extend((source.text, source, depth + 1) for source in reversed(origin.of))

    def __str__(self) -> str:
        return "\n".join(self.lines())


class Origins(tuple[Origin, ...]):
    """The columns of a DataFrame in order."""

    __slots__ = ()

    def named(self, name: str) -> Origin:
        """Return the first column of that name, ignoring case. Raises `KeyError`."""
        for origin in self:
            if origin.name.lower() == name.lower():
                return origin
        raise KeyError(name)

    def __str__(self) -> str:
        return "\n".join(str(origin) for origin in self)


@dataclass(slots=True)
class _Step:
    """A value before its parts are assembled."""

    name: str
    expression: str = ""
    sources: tuple[Origin, ...] = ()
    parts: tuple[Value[Reference], ...] = ()


def origins(plan: PlanColumns, names: DatasetResolver, tables: Mapping[str, Reference]) -> Origins:
    """Return the origins of a plan's columns; `tables` as in `PlanDocument`."""
    return _OriginReader(plan, names, tables).read()


class _OriginReader:
    def __init__(self, plan: PlanColumns, names: DatasetResolver, tables: Mapping[str, Reference]) -> None:
        self._plan = plan
        self._names = names
        self._tables = tables
        self._attributes = Attributes(plan)
        self._texts = ExpressionTexts(plan)
        columns = (attribute for key in plan.reads if not plan.queries(key) for attribute in plan.output(key))
        # Columns of metadata tables, and pseudo-columns.
        self._metadata = {column for column in columns if not self._attributes.graph[column].columns}
        self._steps: dict[Value[Reference], _Step] = {}
        self._made: dict[Value[Reference], Origin] = {}

    def read(self) -> Origins:
        below = self._plan.children.get(self._plan.write, ())
        output = self._plan.output(below[0]) if below else ()
        values = [self._attributes.graph[attribute] for attribute in output]
        self._walk(values)
        names = [redact_sql(column.name) for column in column_lineage(self._plan).columns]
        origins = [self._origin(value) for value in values]
        return Origins(
            origin if origin.name == name else _rename(origin, name)
            for name, origin in zip(names, origins, strict=True)
        )

    def _walk(self, values: Sequence[Value[Reference]]) -> None:
        waiting = list(values)
        while waiting:
            node = waiting.pop()
            if node not in self._steps:
                step = self._steps[node] = self._step(node)
                waiting.extend(step.parts)

    def _step(self, start: Value[Reference]) -> _Step:
        """Return what computes a value, skipping renames."""
        value, seen = start, {start}
        while True:
            value.resolve()
            if value.columns:
                return _Step(self._name(start), "", self._sources(value))
            one = value.inputs[0] if len(value.inputs) == 1 else None
            if one is None or one.step is not Transformation.IDENTITY or one.value in seen:
                break
            value = one.value
            seen.add(value)
        key = value.whole.key
        computing = self._attributes.generated.get(key, key)
        text = redact_sql(self._texts.text(computing)) if computing in self._plan.expressions else ""
        if key in self._metadata:
            text = "metadata"
        return _Step(self._name(start), text, (), self._parts(value))

    def _parts(self, computing: Value[Reference]) -> tuple[Value[Reference], ...]:
        """Return the nearest attributes and columns of sources."""
        parts: dict[Value[Reference], None] = {}
        seen = {computing}
        waiting = [computed.value for computed in reversed(computing.inputs)]
        while waiting:
            value = waiting.pop()
            if value in seen:
                continue
            seen.add(value)
            value.resolve()
            if value.is_named or value.columns:
                parts[value] = None
            else:
                waiting.extend(computed.value for computed in reversed(value.inputs))
        return tuple(parts)

    def _origin(self, start: Value[Reference]) -> Origin:
        """Assemble the origin from the leaves; cycles are cut where they close."""
        for node in parts_first(
            [start], lambda value: () if value in self._made else self._steps[value].parts
        ):
            if node not in self._made:
                step = self._steps[node]
                parts = tuple(self._made[part] for part in step.parts if part in self._made)
                self._made[node] = self._whole(step, parts)
        return self._made[start]

    def _whole(self, step: _Step, parts: tuple[Origin, ...]) -> Origin:
        if len(step.sources) == 1:
            [source] = step.sources
            return source if source.name == step.name else _rename(source, step.name)
        return Origin(step.name, step.expression, "", step.sources or parts)

    def _name(self, value: Value[Reference]) -> str:
        if value.whole is not value and value.columns:
            return redact_sql(dot_path(value.columns[0].column))
        key = value.key
        attribute = self._plan.attributes.get(key) or self._plan.attributes.get(key.rpartition(">")[2])
        return redact_sql(str((attribute or {}).get("name") or key.rpartition("/")[2]))

    def _sources(self, value: Value[Reference]) -> tuple[Origin, ...]:
        origins = []
        for source, column in value.columns:
            reference = self._tables.get(source.name, source)
            name = self._names.resolve(reference).name
            shown = path_of(name) if name and not reference.namespace else redact(reference.name)
            origins.append(Origin(redact_sql(dot_path(column)), "", shown))
        return tuple(origins)


def _rename(origin: Origin, name: str) -> Origin:
    """Return a value under the name that its target has for it."""
    if origin.dataset:
        return Origin(name, origin.name, "", (origin,))
    return Origin(name, origin.expression, "", origin.of)
