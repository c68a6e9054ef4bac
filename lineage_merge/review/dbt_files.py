"""Reading of two manifests for a review: only entries that the change may concern are validated.

Base and head of a pull request share nearly all entries. They are compared as parsed JSON, so that entries of
which nothing is needed cost no more than their parsing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from lineage_merge.infra import storage
from lineage_merge.infra.engine.local import collection_off
from lineage_merge.model.errors import SourceMissing
from lineage_merge.review import git
from lineage_merge.review.dbt_versions import BuiltRelation, DbtFile, closure
from lineage_merge.sources.dbt import artefact
from lineage_merge.sources.dbt.catalog import Catalog, read_catalog
from lineage_merge.sources.dbt.manifest import manifest_of, parse_manifest
from lineage_merge.sources.dbt.nodes import MAPS, SECTIONS
from lineage_merge.sources.dbt.relation import names_of

_MANIFEST = "target/manifest.json"
# Apart from the sections of `nodes`.
_UNIT_TESTS = "unit_tests"
_Json = dict[str, Any]


class ManifestPlace(NamedTuple):
    """The place of a manifest (file, S3 URI, folder or git revision), and the file of its catalog."""

    manifest: str
    catalog: str = ""


def read_files(
    base: ManifestPlace, head: ManifestPlace, *, inside: str = _MANIFEST, whole: bool = False
) -> tuple[DbtFile, DbtFile]:
    """Read both manifests. `whole`: with all entries.

    A git revision must contain `inside`. The base is read at its branch point from the head, or from HEAD if
    the head is no revision. Raises `SourceError`.
    """
    branch = head.manifest if _is_revision(head.manifest) else "HEAD"
    with collection_off():
        parsed = [_parse(base.manifest, inside, branch), _parse(head.manifest, inside)]
        built = [_built(document) for _, document in parsed]
        if not whole:
            reduce_documents(parsed[0][1], parsed[1][1])
        found = [
            replace(_file(location, document, each.catalog), built=all_built)
            for (location, document), each, all_built in zip(parsed, (base, head), built, strict=True)
        ]
    return found[0], found[1]


def _file(location: str, document: _Json, catalog: str) -> DbtFile:
    manifest, problems = manifest_of(location, document)
    found_catalog: Catalog = {}
    if catalog:
        found_catalog, more = read_catalog(catalog, artefact.read(catalog, "catalog"))
        problems += more
    return DbtFile(manifest, found_catalog, tuple(problems))


def _built(document: _Json) -> dict[str, BuiltRelation]:
    """Return what a project builds. Nothing is validated yet."""
    metadata, entries = document.get("metadata"), document.get("nodes")
    adapter = str(metadata.get("adapter_type") or "") if isinstance(metadata, dict) else ""
    found: dict[str, BuiltRelation] = {}
    for unique_id, entry in entries.items() if isinstance(entries, dict) else ():
        if not isinstance(entry, dict) or entry.get("resource_type") not in ("model", "snapshot", "seed"):
            continue
        config = entry.get("config")
        is_ephemeral = isinstance(config, dict) and config.get("materialized") == "ephemeral"
        if is_ephemeral or entry.get("path") == entry.get("original_file_path") == "":
            continue
        fields = [entry.get(each) for each in ("relation_name", "database", "schema", "alias")]
        relation, *names = (field if isinstance(field, str) else "" for field in fields)
        database, schema, _ = names_of(adapter, relation, (names[0], names[1], names[2]))
        code = entry.get("compiled_code") or entry.get("compiled_sql")
        found[unique_id] = BuiltRelation(str(entry["resource_type"]), database, schema, bool(code))
    return found


def _parse(place: str, inside: str, branch: str = "") -> tuple[str, _Json]:
    location, text = _text(place, inside, branch)
    return location, parse_manifest(location, text, with_columns=True)


def _is_revision(place: str) -> bool:
    path = Path(place).expanduser()
    return not (storage.is_s3(place) or place.endswith(".json") or path.is_dir() or path.is_file())


def _text(place: str, inside: str, branch: str) -> tuple[str, str]:
    """Return the location of a manifest for messages, and its text."""
    if _is_revision(place):
        return f"{place}:{inside}", _at_revision(place, inside, branch)
    path = Path(place).expanduser()
    location = place
    if storage.is_s3(place):
        location = place if place.endswith(".json") else f"{place.rstrip('/')}/manifest.json"
    elif path.is_dir():
        found = [each for each in (path / "manifest.json", path / _MANIFEST) if each.is_file()]
        location = str(found[0] if found else path / "manifest.json")
    return location, artefact.read(location, "manifest")


def _at_revision(revision: str, inside: str, branch: str) -> str:
    """Return a file's content in a revision, or at its branch point from `branch`."""
    file = git.file_at(revision, Path(inside).expanduser(), branch=branch)
    if file is None:
        where = f"the branch point of {revision} and {branch}" if branch else revision
        artifact = "base, such as an artifact of its last CI run" if branch else "head"
        raise SourceMissing(
            f"git: {where} has no file {inside}. Fix: commit it, or name the manifest of the {artifact}"
        )
    return file.decode("utf-8-sig", "replace")


def reduce_documents(base: _Json, head: _Json) -> None:
    """Remove entries from two parsed manifests that a comparison needs of neither."""
    if not _can_reduce(base, head):
        return
    needed = _needed(base, head)
    for document in (base, head):
        for section in (*SECTIONS, *MAPS):
            entries = document.get(section)
            if isinstance(entries, dict):
                document[section] = {key: entry for key, entry in entries.items() if key in needed}


def _can_reduce(base: _Json, head: _Json) -> bool:
    """Return whether equal entries mean the same in both manifests."""
    found = [document.get("metadata") for document in (base, head)]
    kinds: list[_Json] = [each for each in found if isinstance(each, dict)]
    if len(kinds) < len(found) or not all(kind.get("project_name") for kind in kinds):
        return False  # before v10 the project's name is found among all entries
    shared = [tuple(str(kind.get(key)) for key in ("adapter_type", "project_name")) for kind in kinds]
    return shared[0] == shared[1] and base.get("groups") == head.get("groups")


def _needed(base: _Json, head: _Json) -> set[str]:
    """Return the ids of changed entries, their descendants, what those read, and tests of all of these."""
    entries = [dict(_entries(document)) for document in (base, head)]
    ids = {*entries[0], *entries[1]}
    changed = {identifier for identifier in ids if entries[0].get(identifier) != entries[1].get(identifier)}
    units = [document.get(_UNIT_TESTS) or {} for document in (base, head)]
    parents: dict[str, set[str]] = {}
    children: dict[str, set[str]] = {}
    tests: dict[str, set[str]] = {}
    for document, found in zip((base, head), entries, strict=True):
        for child, parent in (*_stated(found), *_mapped(document)):
            if child.startswith("test."):
                tests.setdefault(child, set()).add(parent)
            else:
                parents.setdefault(child, set()).add(parent)
                children.setdefault(parent, set()).add(child)
    # A changed test changes what it checks.
    changed |= {parent for identifier in changed for parent in tests.get(identifier, ())}
    if units[0] != units[1]:
        changed |= {parent for unit in units for parent in _tested(unit)}
    needed = closure(closure(changed, children), parents)
    own_tests = {test for test, checked in tests.items() if not checked.isdisjoint(needed)}
    return needed | own_tests | {each for test in own_tests for each in tests[test]}


def _entries(document: _Json) -> Iterator[tuple[str, Any]]:
    for section in SECTIONS:
        entries = document.get(section)
        if isinstance(entries, dict):
            yield from entries.items()


def _stated(entries: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield entries with what they depend on. Nothing is validated yet."""
    for unique_id, entry in entries.items():
        depends_on = entry.get("depends_on") if isinstance(entry, dict) else None
        parents = depends_on.get("nodes") if isinstance(depends_on, dict) else None
        if isinstance(parents, list):
            yield from ((unique_id, parent) for parent in parents if isinstance(parent, str))


def _mapped(document: _Json) -> Iterator[tuple[str, str]]:
    for name in MAPS:
        found = document.get(name)
        for unique_id, others in (found if isinstance(found, dict) else {}).items():
            for other in others if isinstance(others, list) else ():
                if isinstance(other, str):
                    yield (unique_id, other) if name == "parent_map" else (other, unique_id)


def _tested(unit_tests: object) -> Iterator[str]:
    for _, parent in _stated(unit_tests if isinstance(unit_tests, dict) else {}):
        yield parent
