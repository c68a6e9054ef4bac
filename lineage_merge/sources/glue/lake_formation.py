"""Lake Formation tags of Glue tables and columns: one request per table (`glue[].lf_tags`)."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

from lineage_merge.model.errors import SourceDenied
from lineage_merge.sources.glue.client import DENIED, translated_errors
from lineage_merge.sources.glue.settings import GlueCatalog


class LfTags(NamedTuple):
    """Tags of a table, with those of its database, and the further tags of its columns by name."""

    table: tuple[str, ...] = ()
    columns: Mapping[str, tuple[str, ...]] = {}


NO_TAGS = LfTags()


class ReadTags(Protocol):
    """Reads the tags of a table of a database. Raises `SourceDenied` without permission."""

    def __call__(self, database: str, table: str) -> LfTags: ...


@contextmanager
def open_tags(catalog: GlueCatalog) -> Iterator[ReadTags]:
    """Open a client of Lake Formation. Raises `SourceError`."""
    import boto3
    from botocore.config import Config
    from botocore.exceptions import ClientError

    resource = f"Lake Formation tags of {catalog}"
    retries: Any = {"mode": "adaptive", "total_max_attempts": 8}
    settings = Config(connect_timeout=5, read_timeout=60, retries=retries)
    with translated_errors(resource):
        client: Any = boto3.client("lakeformation", region_name=catalog.region, config=settings)

    def read(database: str, table: str) -> LfTags:
        named = {"DatabaseName": database, "Name": table}
        if catalog.account:
            named["CatalogId"] = catalog.account
        with translated_errors(resource):
            try:
                return parse(client.get_resource_lf_tags(Resource={"Table": named}))
            except ClientError as error:
                code = str(error.response.get("Error", {}).get("Code", ""))
                if code == "EntityNotFoundException":
                    return NO_TAGS  # the table is new, or was dropped
                if code in DENIED:
                    raise SourceDenied(f"{resource}: access denied ({code})") from None
                raise

    try:
        yield read
    finally:
        client.close()


def parse(response: Mapping[str, Any]) -> LfTags:
    """Return the tags in a response of GetResourceLFTags.

    A column inherits the tags of its table; only further ones are its own.
    """
    table = {*_texts(response.get("LFTagOnDatabase")), *_texts(response.get("LFTagsOnTable"))}
    columns: dict[str, tuple[str, ...]] = {}
    for tag in response.get("LFTagsOnColumns") or ():
        own = set(_texts(tag.get("LFTags"))) - table
        if own and tag.get("Name"):
            columns[str(tag["Name"])] = tuple(sorted(own))
    return LfTags(tuple(sorted(table)), columns)


def _texts(tags: Iterable[Mapping[str, Any]] | None) -> Iterator[str]:
    """Yield ``pii`` for the value true, ``confidentiality:high`` for others."""
    for tag in tags or ():
        key = str(tag.get("TagKey") or "").strip()
        for value in tag.get("TagValues") or ():
            if key:
                yield key if str(value).strip().lower() == "true" else f"{key}:{value}"
