"""Clients of AWS Glue and Lake Formation. The default AWS chain supplies credentials and the endpoint."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any, Literal, NamedTuple

from lineage_merge.infra import input_budget
from lineage_merge.infra.aws import API_DENIED, boto_client
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import SourceDenied, SourceError, SourceMissing, SourceUnreachable
from lineage_merge.sources import unmatched_patterns
from lineage_merge.sources.glue.settings import GlueCatalog
from lineage_merge.sources.unmatched_patterns import Existing, Patterns

DENIED = API_DENIED | {
    "401",
    "403",
    "IncompleteSignature",
    "InvalidClientTokenId",
    "MissingAuthenticationTokenException",
    "OptInRequired",
}
# The driver asks first and alone, so that an unreachable endpoint is reported soon. Glue limits calls per
# second and account: tasks, which ask concurrently, retry longer.
_DRIVER_ATTEMPTS, _TASK_ATTEMPTS = 3, 8

# Glue's API does not report the number of tables in a database: 100 tables of 30 columns, in its responses.
BYTES_PER_DATABASE = 400_000

_BUSY = frozenset({"InternalServiceException", "OperationTimeoutException", "ServiceUnavailable"})


def size(catalogs: Sequence[GlueCatalog]) -> int:
    """Estimate the bytes of the tables of the selected databases. Raises `SourceError`."""
    return BYTES_PER_DATABASE * sum(len(database_names(catalog)) for catalog in catalogs)


def database_names(catalog: GlueCatalog) -> list[str]:
    """Return the selected databases of a catalog, sorted. Raises `SourceError`."""
    return select_databases(catalog, all_databases(catalog))


def all_databases(catalog: GlueCatalog) -> list[str]:
    """Return all databases of a catalog, sorted. Raises `SourceError`."""
    pages = _pages(catalog, "get_databases", str(catalog), _DRIVER_ATTEMPTS)
    return sorted({str(database["Name"]) for page in pages for database in page.get("DatabaseList", ())})


def select_databases(catalog: GlueCatalog, databases: Sequence[str]) -> list[str]:
    """Return those of the databases that the catalog's patterns match."""
    globs = catalog.databases or ("*",)
    return [name for name in databases if any(_is_match(glob, name) for glob in globs)]


def report_unmatched(catalog: GlueCatalog, databases: Sequence[str]) -> list[Problem]:
    """Return a notice for each pattern that matches none of the databases."""
    globs = [
        glob
        for glob in catalog.databases or ("*",)
        if not any(_is_match(glob, database) for database in databases)
    ]
    patterns = Patterns(str(catalog), "databases", "database", globs)
    return unmatched_patterns.notices(patterns, globs, Existing(databases, len(databases)))


def _is_match(glob: str, database: str) -> bool:
    # Glue's names are lowercase.
    return fnmatchcase(database.lower(), glob.lower())


def tables(catalog: GlueCatalog, database: str) -> Iterator[dict[str, Any]]:
    """Yield the tables of a database as described by Glue's API. Raises `SourceError`."""
    resource = f"{catalog}, database {database}"
    for page in _pages(catalog, "get_tables", resource, _TASK_ATTEMPTS, DatabaseName=database):
        yield from page.get("TableList", ())


def _pages(
    catalog: GlueCatalog, call: str, resource: str, attempts: int, **arguments: str
) -> Iterator[dict[str, Any]]:
    if catalog.account:
        arguments["CatalogId"] = catalog.account
    with _client(catalog, "glue", attempts, resource) as client, translate_errors(resource):
        client.meta.events.register("after-call.glue", _count_bytes)
        yield from client.get_paginator(call).paginate(**arguments)


@contextmanager
def _client(
    catalog: GlueCatalog, service: Literal["glue", "lakeformation"], attempts: int, resource: str
) -> Iterator[Any]:
    with translate_errors(resource):
        client = boto_client(
            service, read_timeout=60, attempts=attempts, mode="adaptive", region_name=catalog.region
        )
    try:
        yield client
    finally:
        client.close()


def _count_bytes(http_response: Any, **_call: Any) -> None:
    input_budget.count(len(http_response.content))


@contextmanager
def translate_errors(resource: str) -> Iterator[None]:
    """Translate boto's errors into the project's."""
    from botocore import exceptions as boto

    try:
        yield
    except boto.ClientError as error:
        raise _service_error(resource, str(error.response.get("Error", {}).get("Code", ""))) from None
    except (boto.NoCredentialsError, boto.PartialCredentialsError):
        raise SourceDenied(f"{resource}: no AWS credentials found") from None
    except (boto.CredentialRetrievalError, boto.SSOError, boto.TokenRetrievalError):
        raise SourceDenied(f"{resource}: AWS credentials expired or unavailable: log in again") from None
    except boto.ProfileNotFound:
        raise SourceDenied(f"{resource}: the profile in AWS_PROFILE does not exist") from None
    except boto.InvalidRegionError:
        raise SourceMissing(f"{resource}: unknown region") from None
    except boto.BotoCoreError as error:
        raise SourceUnreachable(f"{resource}: no connection to Glue ({type(error).__name__})") from None
    except ValueError:
        raise SourceUnreachable(
            f"{resource}: AWS_ENDPOINT_URL_GLUE or AWS_ENDPOINT_URL is not a URL"
        ) from None


def _service_error(resource: str, code: str) -> SourceError:
    if code == "EntityNotFoundException":
        return SourceMissing(f"{resource}: not found")
    if code in DENIED:
        return SourceDenied(f"{resource}: access denied by Glue ({code})")
    if code in _BUSY or "Throttl" in code:
        return SourceUnreachable(f"{resource}: Glue is throttled or unavailable ({code})")
    return SourceError(f"{resource}: Glue error {code or 'without a code'}")


class LfTags(NamedTuple):
    """Tags of a table, with those of its database, and the further tags of its columns by name."""

    table: tuple[str, ...] = ()
    columns: Mapping[str, tuple[str, ...]] = {}


NO_TAGS = LfTags()


# Reads the tags of a table, of a database and a table. Raises `SourceDenied` without permission.
ReadTags = Callable[[str, str], LfTags]


@contextmanager
def open_tags(catalog: GlueCatalog) -> Iterator[ReadTags]:
    """Open a client of Lake Formation. Raises `SourceError`."""
    from botocore.exceptions import ClientError

    resource = f"Lake Formation tags of {catalog}"

    def read(database: str, table: str) -> LfTags:
        named = {"DatabaseName": database, "Name": table}
        if catalog.account:
            named["CatalogId"] = catalog.account
        with translate_errors(resource):
            try:
                return parse(client.get_resource_lf_tags(Resource={"Table": named}))
            except ClientError as error:
                code = str(error.response.get("Error", {}).get("Code", ""))
                if code == "EntityNotFoundException":
                    return NO_TAGS  # the table is new, or was dropped
                if code in DENIED:
                    raise SourceDenied(f"{resource}: access denied ({code})") from None
                raise

    with _client(catalog, "lakeformation", _TASK_ATTEMPTS, resource) as client:
        yield read


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
