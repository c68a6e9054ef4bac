"""Reading of two manifests for a review: only entries that the change may concern are validated.

Base and head of a pull request share nearly all entries. They are compared as parsed JSON, so that entries of
which nothing is needed cost no more than their parsing.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from lineage_merge.infra import storage
from lineage_merge.infra.batches import gather
from lineage_merge.infra.engine.local import collection_off
from lineage_merge.model.errors import SourceMissing
from lineage_merge.model.graph_walks import reachable
from lineage_merge.review import git
from lineage_merge.review.dbt_versions import BuiltRelation, DbtFile
from lineage_merge.sources.dbt import artefact
from lineage_merge.sources.dbt.catalog import CatalogFile, read_catalog
from lineage_merge.sources.dbt.manifest import manifest_of, parse_manifest
from lineage_merge.sources.dbt.nodes import MAPS, SECTIONS
from lineage_merge.sources.dbt.relation import names_of
from lineage_merge.sources.json_values import as_list, as_mapping

_MANIFEST = "target/manifest.json"
# Apart from the sections of `nodes`.
_UNIT_TESTS = "unit_tests"
_Json = dict[str, Any]


class ManifestPlace(NamedTuple):
    """The place of a manifest (file, S3 URI, folder or git revision), and the file of its catalog.

    `may_lack_catalog`: a missing catalog is a note, as in a build, and no error.
    """

    manifest: str
    catalog: str = ""
    may_lack_catalog: bool = False


def read_files(
    base: ManifestPlace, head: ManifestPlace, *, inside: str = _MANIFEST, whole: bool = False
) -> tuple[DbtFile, DbtFile]:
    """Read both manifests. `whole`: with all entries.

    A git revision must contain `inside`. The base is read at its branch point from the head, or from HEAD if
    the head is no revision. Raises `SourceError`.
    """
    branch = head.manifest if _is_revision(head.manifest) else "HEAD"
    with collection_off():
        base_location, old = _parse(base.manifest, inside, branch)
        head_location, new = _parse(head.manifest, inside)
        projects = _list_built(old), _list_built(new)
        if not whole:
            reduce_documents(old, new)
        return (
            _file(base_location, old, base, projects[0]),
            _file(head_location, new, head, projects[1]),
        )


def _file(
    location: str, document: _Json, place: ManifestPlace, project: Mapping[str, BuiltRelation]
) -> DbtFile:
    manifest, problems = manifest_of(location, document)
    catalog: CatalogFile | None = None
    notes: tuple[str, ...] = ()
    if place.catalog:
        try:
            catalog, more = read_catalog(place.catalog, artefact.read(place.catalog, "catalog"))
            problems += more
        except SourceMissing as error:
            if not place.may_lack_catalog:
                raise
            notes = (f"{error.message}: columns and types are those of the SQL",)
    return DbtFile(manifest, catalog, tuple(problems), project, notes)


def _list_built(document: _Json) -> dict[str, BuiltRelation]:
    """Return what a project builds. Nothing is validated yet."""
    adapter = str(as_mapping(document.get("metadata")).get("adapter_type") or "")
    built: dict[str, BuiltRelation] = {}
    for unique_id, entry in as_mapping(document.get("nodes")).items():
        if not isinstance(entry, dict) or entry.get("resource_type") not in ("model", "snapshot", "seed"):
            continue
        is_ephemeral = as_mapping(entry.get("config")).get("materialized") == "ephemeral"
        if is_ephemeral or entry.get("path") == entry.get("original_file_path") == "":
            continue
        fields = [entry.get(key) for key in ("relation_name", "database", "schema", "alias")]
        relation, *names = (field if isinstance(field, str) else "" for field in fields)
        database, schema, _ = names_of(adapter, relation, (names[0], names[1], names[2]))
        code = entry.get("compiled_code") or entry.get("compiled_sql")
        built[unique_id] = BuiltRelation(str(entry["resource_type"]), database, schema, bool(code))
    return built


def _parse(place: str, inside: str, branch: str = "") -> tuple[str, _Json]:
    location, text = _text(place, inside, branch)
    return location, parse_manifest(location, text, with_columns=True)


def _is_revision(place: str) -> bool:
    path = Path(place).expanduser()
    return not (storage.is_s3(place) or place.endswith(".json") or path.is_dir() or path.is_file())


def _text(place: str, inside: str, branch: str) -> tuple[str, str]:
    """Return the location of a manifest for messages, and its text."""
    if _is_revision(place):
        file = git.file_at(place, Path(inside).expanduser(), branch=branch)
        if file is None:
            where = f"the branch point of {place} and {branch}" if branch else place
            artifact = "base, such as an artifact of its last CI run" if branch else "head"
            raise SourceMissing(
                f"git: {where} has no file {inside}. Fix: commit it, or name the manifest of the {artifact}"
            )
        return f"{place}:{inside}", file.decode("utf-8-sig", "replace")
    path = Path(place).expanduser()
    location = place
    if storage.is_s3(place):
        location = place if place.endswith(".json") else f"{place.rstrip('/')}/manifest.json"
    elif path.is_dir():
        files = [path / "manifest.json", path / _MANIFEST]
        location = str(next((file for file in files if file.is_file()), files[0]))
    return location, artefact.read(location, "manifest")


def reduce_documents(base: _Json, head: _Json) -> None:
    """Remove entries from two parsed manifests that a comparison needs of neither."""
    if not _can_reduce(base, head):
        return
    needed = _find_needed(base, head)
    for document in (base, head):
        for section in (*SECTIONS, *MAPS):
            if entries := as_mapping(document.get(section)):
                document[section] = {key: entry for key, entry in entries.items() if key in needed}


def _can_reduce(base: _Json, head: _Json) -> bool:
    """Return whether equal entries mean the same in both manifests."""
    old, new = (as_mapping(document.get("metadata")) for document in (base, head))
    # Before v10 the project's name is found among all entries.
    has_names = bool(old.get("project_name") and new.get("project_name"))
    is_same = all(str(old.get(key)) == str(new.get(key)) for key in ("adapter_type", "project_name"))
    return has_names and is_same and base.get("groups") == head.get("groups")


def _find_needed(base: _Json, head: _Json) -> set[str]:
    """Return the ids of changed entries, their descendants, what those read, and tests of all of these."""
    documents = base, head
    old, new = (
        {key: entry for section in SECTIONS for key, entry in as_mapping(document.get(section)).items()}
        for document in documents
    )
    changed = {identifier for identifier in {*old, *new} if old.get(identifier) != new.get(identifier)}
    links = {*_list_stated(old), *_list_mapped(base), *_list_stated(new), *_list_mapped(head)}
    tests = gather((child, parent) for child, parent in links if child.startswith("test."))
    parents = gather((child, parent) for child, parent in links if child not in tests)
    children = gather((parent, child) for child, parent in links if child not in tests)
    # A changed test changes what it checks.
    changed |= {parent for identifier in changed for parent in tests.get(identifier, ())}
    units = [as_mapping(document.get(_UNIT_TESTS)) for document in documents]
    if units[0] != units[1]:
        changed |= {parent for unit in units for _, parent in _list_stated(unit)}
    needed = reachable(reachable(changed, children), parents)
    own_tests = {test for test, checked in tests.items() if not needed.isdisjoint(checked)}
    return needed | own_tests | {parent for test in own_tests for parent in tests[test]}


def _list_stated(entries: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield entries with what they depend on."""
    for unique_id, entry in entries.items():
        parents = as_list(as_mapping(as_mapping(entry).get("depends_on")).get("nodes"))
        yield from ((unique_id, parent) for parent in parents if isinstance(parent, str))


def _list_mapped(document: _Json) -> Iterator[tuple[str, str]]:
    for name in MAPS:
        for unique_id, others in as_mapping(document.get(name)).items():
            for other in as_list(others):
                if isinstance(other, str):
                    yield (unique_id, other) if name == "parent_map" else (other, unique_id)
