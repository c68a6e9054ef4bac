"""Renamed entries of a dbt project, and queries with relations named by entry. Pure."""

from collections.abc import Iterator, Mapping

from sqlglot import Dialect

from lineage_merge.review.clauses import ComparableQuery, parts_of, query_of
from lineage_merge.review.dbt_versions import DbtVersion
from lineage_merge.sources.dbt.columns import dialect_of, relation_name
from lineage_merge.sources.dbt.nodes import Manifest, Node

BUILT = ("model", "snapshot", "seed")


def renamed_entries(before: DbtVersion, after: DbtVersion) -> dict[str, str]:
    """Return new by old unique id of models and sources that are, or seem to be, renamed.

    The relation is the same. Otherwise, a model: the new one has the same SQL; a source: the same models read
    it.
    """
    removed = sorted(before.manifest.nodes.keys() - after.manifest.nodes.keys())
    added = sorted(after.manifest.nodes.keys() - before.manifest.nodes.keys())
    if not removed or not added:
        return {}
    found = _with_equal_relation(before, after, removed, added)
    used = set(found.values())
    keys = _Keys(before, after)
    candidates: dict[_Key, list[str]] = {}
    for each in added:
        key = keys.of(1, each)
        if key and each not in used:
            candidates.setdefault(key, []).append(each)
    for each in removed:
        key = None if each in found else keys.of(0, each)
        others = [other for other in candidates.get(key, ()) if other not in used] if key else []
        if len(others) == 1:
            found[each] = others[0]
            used.add(others[0])
    return found


def _with_equal_relation(
    before: DbtVersion, after: DbtVersion, removed: list[str], added: list[str]
) -> dict[str, str]:
    there: dict[tuple[bool, str], str] = {}
    for each in added:
        node, dataset = after.manifest.nodes[each], after.datasets.get(each)
        if dataset and node.kind in ("source", *BUILT) and not node.folded:
            there[node.kind == "source", dataset] = each
    found: dict[str, str] = {}
    for each in removed:
        node = before.manifest.nodes[each]
        if node.kind in ("source", *BUILT) and not node.folded:
            key = (node.kind == "source", before.datasets.get(each, ""))
            if key in there:
                found[each] = there.pop(key)
    return found


_Key = tuple[str, str | frozenset[str]]


class _Keys:
    """What is equal in both versions if an entry is only renamed, None if that is unknown."""

    def __init__(self, before: DbtVersion, after: DbtVersion) -> None:
        self._manifests = (before.manifest, after.manifest)
        self._texts = DbtQueries(before, after, {})
        self._children = [_children(manifest) for manifest in self._manifests]

    def of(self, at: int, unique_id: str) -> _Key | None:
        """Return the key of an entry of the version before (0) or after (1)."""
        node = self._manifests[at].nodes[unique_id]
        if node.kind == "source":
            children = self._children[at].get(unique_id)
            return (node.kind, frozenset(children)) if children else None
        if node.code.sql.strip():
            return node.kind, self._texts.of(at, node).text
        return (node.kind, f"#{node.code.source_digest}") if node.code.source_digest else None


def _children(manifest: Manifest) -> dict[str, set[str]]:
    children: dict[str, set[str]] = {}
    for unique_id, node in manifest.nodes.items():
        for parent in node.parents:
            children.setdefault(parent, set()).add(unique_id)
    return children


class DbtQueries:
    """Queries of both versions with relations named by unique id."""

    def __init__(self, before: DbtVersion, after: DbtVersion, renamed: Mapping[str, str]) -> None:
        self._versions = (before, after)
        self._renamed = renamed
        self._dialects = [_known(dialect_of(each.manifest)) for each in self._versions]
        self._relations: list[dict[tuple[str, ...], str]] = []
        for version, dialect in zip(self._versions, self._dialects, strict=True):
            names = {
                parts_of(relation_name(node), dialect): short(renamed.get(unique_id, unique_id))
                for unique_id, node in version.manifest.nodes.items()
                if node.kind in ("source", *BUILT) and not node.folded
            }
            self._relations.append({parts: name for parts, name in names.items() if parts})

    def pairs(self) -> Iterator[tuple[Node, Node]]:
        """Yield entries that both versions have, renamed ones included."""
        old, new = (version.manifest.nodes for version in self._versions)
        for unique_id, node in sorted(old.items()):
            other = new.get(self._renamed.get(unique_id, unique_id))
            if other is not None:
                yield node, other

    def query(self, old: Node, new: Node) -> tuple[ComparableQuery, ComparableQuery]:
        """Return the queries of an entry in both versions."""
        return self.of(0, old), self.of(1, new)

    def of(self, at: int, node: Node) -> ComparableQuery:
        """Return the query of an entry in the version before (0) or after (1)."""
        if node.code.language != "sql":
            return ComparableQuery(node.code.sql, {}, node.code.sql, is_parsed=False)
        return query_of(node.code.sql, self._dialects[at], self._relations[at])


def _known(dialect: Dialect | None) -> Dialect:
    return dialect or Dialect.get_or_raise(None)


def short(unique_id: str) -> str:
    """Return the name of an entry without its kind and package: ``orders``, ``raw.orders``."""
    return ".".join(unique_id.split(".")[2:]) or unique_id
