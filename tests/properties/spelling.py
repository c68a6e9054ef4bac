"""Datasets as they are spelled in one place or another, and the one id of each."""

import uuid
from collections.abc import Mapping

from tests.properties.pipeline import WAREHOUSE, Kind, Mention, Place

_HOST = "tickit-wh.abc123.us-east-1.redshift.amazonaws.com:5439/dev"

# What stands before and behind a path that means the same dataset.
_PATHS = (
    ("s3://", ""),
    ("s3a://", "/"),
    ("s3n://", "/day=2024-01-02"),
    ("s3://", "/day=2024-01-03"),
    ("s3://", "/day=2024-01-02/hour=3/part-00000-tid-1.c000.snappy.parquet"),
    ("S3A://", "/_temporary/0/task_1"),
    ("s3://", "/*"),
    ("s3://", "/{generated}"),
    ("s3://", "//part-r-00001"),
)
_TABLES = (
    "jdbc:redshift://{host}:{schema}.{table}",
    "jdbc:redshift://{host}?user=etl&password=S3cr3t:{SCHEMA}.{TABLE}",
    'jdbc:postgresql://{host}:"{schema}"."{table}"',
    "s3a://{schema}-glue/temporary/redshift/{schema}.{table}/{generated}/",
    "s3://{schema}-glue/temporary/redshift/{schema}.{table}/{generated}/part-00000.csv",
)
# How many spellings a dataset has.
SPELLINGS: Mapping[Kind, int] = {
    kind: len(_TABLES) if kind == Kind.WAREHOUSE else len(_PATHS) for kind in Kind
}


def uri(prefix: str, mention: Mention, where: str) -> str:
    """The raw URI; `where` is the place that mentions it, since generated names are never the same."""
    place = mention.place
    generated = str(uuid.uuid5(uuid.NAMESPACE_URL, where))
    if place.kind == Kind.WAREHOUSE:
        return _TABLES[mention.spelling].format(
            host=_HOST,
            schema=prefix,
            table=place.name,
            SCHEMA=prefix.upper(),
            TABLE=place.name.upper(),
            generated=generated,
        )
    before, behind = _PATHS[mention.spelling]
    return before + _path(prefix, place) + behind.format(generated=generated)


def identity(prefix: str, place: Place, environment: str = "dev") -> str:
    """The id, by DESIGN's rules of identity."""
    if place.kind == Kind.WAREHOUSE:
        return f"{environment}|{WAREHOUSE}|dev.{prefix}.{place.name}"
    bucket, _, key = _path(prefix, place).partition("/")
    return f"{environment}|s3://{bucket}|{key}"


def table_identity(prefix: str, place: Place, environment: str = "dev") -> str:
    """The id of a catalog's table of which only the name is known."""
    return f"{environment}|spark_catalog|{prefix}.{place.name}"


def path(prefix: str, place: Place) -> str:
    """A dataset as `via` names it."""
    namespace, name = identity(prefix, place).split("|")[1:]
    return f"{namespace}/{name}"


def _path(prefix: str, place: Place) -> str:
    folder = "" if place.kind == Kind.LAKE else f"{place.kind.value}/"
    return f"{prefix}-lake/{folder}{place.name}"
