"""Manifests of COPY: the files that they list, for loads whose files the log does not have."""

import json
from typing import NamedTuple

from lineage_merge.infra.storage import find_files, read_text
from lineage_merge.model.errors import SourceError
from lineage_merge.sources.query_log.statements.moved_files import datasets_of


class ManifestFiles(NamedTuple):
    """The datasets that a manifest lists, or why they are unknown."""

    datasets: tuple[str, ...] = ()
    problem: str = ""


def read_manifest(location: str) -> ManifestFiles:
    """Read a manifest, or those in a folder (a location that ends in ``/``), without its subfolders."""
    urls: list[str] = []
    try:
        for file in _files(location):
            listed = urls_of(read_text(file))
            if listed is None:
                return ManifestFiles(problem=f"COPY by manifest: {file} is not a manifest (entries[].url)")
            urls += listed
    except SourceError:
        return ManifestFiles(problem=f"COPY by manifest: cannot read {location}")
    datasets = datasets_of(urls)
    return (
        ManifestFiles(datasets)
        if datasets
        else ManifestFiles(problem=f"COPY by manifest: {location} is empty")
    )


def _files(location: str) -> list[str]:
    if not location.endswith("/"):
        return [location]
    files = [file.location for file in find_files(location)]
    return [file for file in files if "/" not in file.rpartition(location)[2]]


def urls_of(text: str) -> list[str] | None:
    """Return the files in the text of a manifest, None if it is none. Pure."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    entries = document.get("entries") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        return None
    urls = [entry.get("url") for entry in entries if isinstance(entry, dict)]
    texts = [url for url in urls if isinstance(url, str)]
    return texts if len(texts) == len(entries) else None
