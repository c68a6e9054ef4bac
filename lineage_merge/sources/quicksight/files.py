"""Definitions in files: JSON below a folder, local or in S3, and asset bundles. No Spark."""

from collections.abc import Sequence

from lineage_merge.infra.document_decoder import loads
from lineage_merge.infra.storage import read_bytes
from lineage_merge.model.errors import SourceError
from lineage_merge.sources.document_files import DocumentFiles
from lineage_merge.sources.json_values import as_list, as_mapping, as_text

DEFINITION_FILES = DocumentFiles((".json", ".json.gz"), (".zip", ".qs"), "JSON files or an asset bundle")


def list_manifest_files(manifest: str) -> Sequence[str]:
    """Return the addresses of the files that a manifest lists; none if it cannot be read."""
    try:
        locations = as_list(as_mapping(loads(read_bytes(manifest).decode("utf-8-sig"))).get("fileLocations"))
    except (SourceError, ValueError, RecursionError):
        return ()
    return [
        _address_of(as_text(uri))
        for location in map(as_mapping, locations)
        for key in ("URIs", "URIPrefixes")
        for uri in as_list(location.get(key))
        if as_text(uri)
    ]


def _address_of(uri: str) -> str:
    """Return ``s3://bucket/key`` for the HTTPS address of an object."""
    scheme, _, rest = uri.partition("://")
    host, _, path = rest.partition("/")
    if scheme != "https" or ".amazonaws.com" not in host:
        return uri
    bucket, dot, _ = host.partition(".s3")
    return f"s3://{bucket}/{path}" if dot and bucket else f"s3://{path}"
