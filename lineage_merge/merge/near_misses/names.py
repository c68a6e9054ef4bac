"""Similarity of two dataset names: last name and place (namespace, database and schema, folders). Pure."""

import re
from dataclasses import dataclass
from functools import lru_cache

from lineage_merge import naming
from lineage_merge.model.elements import decode
from lineage_merge.naming.identifiers import split_name

# Points of the score (docs/joining.md). Columns: `pairs.py`.
SAME_NAME = 30
SPELLING = 26
PLURAL = 25
OTHER_NAME = 5
PLACE = 20

# Last names that say nothing about the content.
_GENERIC = frozenset(
    re.findall(
        r"\w+",
        "archive avro backup bronze clean cleaned csv curated current daily data dataset default delta dump"
        " export file files final full gold hourly in incremental input json landing latest main monthly new"
        " old orc out output outputs parquet part parts raw result results silver stage staging table temp"
        " temporary test tmp weekly",
    )
)
_DATE_OR_NUMBER = re.compile(r"v?\d[\d_.:-]*(?:t[\d:]+z?)?", re.IGNORECASE)
_EXTENSION = re.compile(
    r"\.(?:csv|tsv|txt|jsonl?|ndjson|parquet|orc|avro|db)(?:\.(?:gz|bz2|zst|snappy))?$", re.IGNORECASE
)
_SEPARATORS = re.compile(r"[\W_]+")
_DIGITS = re.compile(r"\d+")
_REGION = re.compile(r"\b(?:af|ap|ca|cn|eu|il|me|mx|sa|us)(?:-gov|-iso[a-z]?)?-[a-z]+-\d\b")
_ACCOUNT = re.compile(r"(?<!\d)\d{12}(?!\d)")
_PORT = re.compile(r":\d+$")
_SHORTEST = 3
# Catalogs of tables that are stored as files: one table is often in several of them.
_CATALOGS = frozenset({"hive", "spark_catalog", "arn", "awsathena", "trino"})


@dataclass(frozen=True, slots=True)
class NameParts:
    """A dataset id in parts. `leaf`: the last name that is not generic, "" if there is none.

    `containers`: database and schema, or the folders above `leaf`; `below`: generic segments below `leaf`.
    """

    id: str
    environment: str
    namespace: str
    name: str
    is_path: bool
    containers: tuple[str, ...]
    leaf: str
    below: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Return the normalized last name: case, separators and plural removed."""
        return normalize(self.leaf)

    @property
    def whole(self) -> tuple[str, ...]:
        """Return the normalized name within the namespace."""
        return (*map(normalize, self.containers), self.key)


@dataclass(frozen=True, slots=True)
class Similarity:
    """Points of name and place, and the evidence. `is_whole`: the names in the namespaces are equal."""

    points: float
    evidence: tuple[str, ...]
    is_whole: bool = False


@lru_cache(maxsize=65_536)
def parts_of(dataset: str) -> NameParts:
    """Split the id of a dataset."""
    environment, namespace, name = (*map(decode, dataset.split("|", 2)), "", "")[:3]
    is_path = _is_path(namespace)
    below: list[str] = []
    if is_path:
        segments = [segment for segment in name.split("/") if segment]
    elif namespace.startswith("kafka:"):
        segments = [name]
    else:
        dotted = name.removeprefix("table/").replace("/", ".") if namespace.startswith("arn:") else name
        segments = [segment.value for segment in split_name(dotted)]
    if is_path:
        while segments and is_generic(segments[-1]):
            below.insert(0, segments.pop())
    leaf = _EXTENSION.sub("", segments[-1]) if segments else ""
    if is_generic(leaf):
        leaf = ""
    return NameParts(dataset, environment, namespace, name, is_path, tuple(segments[:-1]), leaf, tuple(below))


@lru_cache(maxsize=65_536)
def _is_path(namespace: str) -> bool:
    return bool(naming.path_uri(namespace, "x"))


@lru_cache(maxsize=65_536)
def is_catalog_of_files(namespace: str) -> bool:
    """Whether a namespace is a catalog of tables in files: Glue, Hive, or a name in Spark."""
    return ":" not in namespace or naming.name_dataset(namespace, "database.table").stored_as_files


def is_generic(name: str) -> bool:
    """Whether a name says nothing about the content: `data`, a date, a version, one or two letters."""
    return len(name) < _SHORTEST or name.lower() in _GENERIC or bool(_DATE_OR_NUMBER.fullmatch(name.lower()))


@lru_cache(maxsize=65_536)
def normalize(name: str) -> str:
    """Return a name in lower case without separators and plural."""
    text = _SEPARATORS.sub("", _EXTENSION.sub("", name).lower())
    if text.endswith("ies") and len(text) > 4:
        return f"{text[:-3]}y"
    if text.endswith(("xes", "ches", "shes")):
        return text[:-2]
    return text[:-1] if text.endswith("s") and not text.endswith("ss") and len(text) > _SHORTEST else text


def compare(read: NameParts, written: NameParts) -> Similarity | None:
    """Compare the names of two datasets; None if they are different things by their names."""
    if not read.leaf or not written.leaf or read.id == written.id or read.environment != written.environment:
        return None
    if read.below and written.below and read.below != written.below:
        return None
    table = _table_of_directory(read, written)
    if table is not None:
        return table
    named = _compare_leaves(read.leaf, written.leaf)
    namespaces = compare_namespaces(read.namespace, written.namespace)
    if named is None or namespaces is None:
        return None
    place = _compare_containers(read, written, same_namespace=namespaces[0] == 1)
    if place is None:
        return None
    points, evidence = named
    if points == OTHER_NAME and (namespaces[0] < 1 or place[0] < 1):
        return None
    is_whole = points >= PLURAL and read.is_path == written.is_path and read.whole == written.whole
    return Similarity(
        points + PLACE * namespaces[0] + PLACE * place[0],
        tuple(text for text in (evidence, place[1], namespaces[1]) if text),
        is_whole,
    )


def _table_of_directory(read: NameParts, written: NameParts) -> Similarity | None:
    """Compare a table with a temporary directory named ``schema.table``, through which it is loaded."""
    if read.is_path or not written.is_path or "." not in written.leaf:
        return None
    directory = [segment.value for segment in split_name(written.leaf)]
    table = [*read.containers, read.leaf]
    if [value.lower() for value in table[-len(directory) :]] != [value.lower() for value in directory]:
        return None
    return Similarity(SAME_NAME + 2 * PLACE, (f"a directory named after the table {written.leaf}",))


def _compare_leaves(one: str, other: str) -> tuple[int, str] | None:
    if one == other:
        return SAME_NAME, "same name"
    if _SEPARATORS.sub("", one.lower()) == _SEPARATORS.sub("", other.lower()):
        how = "case" if one.lower() == other.lower() else "separators"
        return SPELLING, f"names that differ only in {how}"
    if normalize(one) == normalize(other):
        return PLURAL, "singular and plural of a name"
    if is_misspelling(one.lower(), other.lower()) or _adds_words(one, other):
        return OTHER_NAME, "similar names"
    return None


def words_of(name: str) -> frozenset[str]:
    """Return the words of a name in lower case: ``{sales, dl}`` of ``sales_dl``."""
    return frozenset(token for token in _SEPARATORS.split(re.sub(r"\W|_", "_", name.lower())) if token)


def _adds_words(one: str, other: str) -> bool:
    """Whether one name is the other with more words, none of them a number: ``sales``, ``sales_dl``."""
    fewer, more = sorted((words_of(one), words_of(other)), key=len)
    return bool(fewer) and fewer < more and not any(_DIGITS.search(token) for token in more - fewer)


def is_variant(one: str, other: str) -> bool:
    """Whether two names differ only in their digits: shards, versions, dates, tenants."""
    return one != other and _DIGITS.sub("0", one) == _DIGITS.sub("0", other)


@lru_cache(maxsize=65_536)
def is_misspelling(one: str, other: str) -> bool:
    """Whether two names differ by one letter that is missing, added, changed or swapped."""
    if abs(len(one) - len(other)) > 1 or min(len(one), len(other)) < 5:
        return False
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    end = 0
    while end < min(len(one), len(other)) - start and one[-1 - end] == other[-1 - end]:
        end += 1
    rests = one[start : len(one) - end], other[start : len(other) - end]
    if any(character.isdigit() for rest in rests for character in rest):
        return False
    is_swap = len(rests[0]) == len(rests[1]) == 2 and rests[0] == rests[1][::-1]
    # One letter at the end of a word may be a name of its own: team_a, team_b.
    at_word = {text[start - 1 : start] for text in (one, other)} <= {"_", "-", ".", "/"}
    return (is_swap or max(map(len, rests)) <= 1) and not (at_word and start == len(one) - 1 - end)


@lru_cache(maxsize=65_536)
def compare_namespaces(one: str, other: str) -> tuple[float, str] | None:
    """Return the similarity of two namespaces from 0 to 1, with its evidence; None for variants."""
    if one == other:
        return 1.0, ""
    differ = "other namespaces"
    schemes, hosts = zip(*(_scheme_and_host(location) for location in (one, other)), strict=True)
    places = [_PORT.sub("", _ACCOUNT.sub("#", _REGION.sub("#", host))) for host in hosts]
    if schemes[0] == schemes[1]:
        if places[0] == places[1]:
            kinds = [
                kind
                for kind, pattern in (("region", _REGION), ("account", _ACCOUNT), ("port", _PORT))
                if pattern.findall(hosts[0]) != pattern.findall(hosts[1])
            ]
            return 0.8, f"namespaces that differ only in {' and '.join(kinds)}"
        if is_variant(places[0], places[1]):
            return None
        if normalize(places[0]) == normalize(places[1]) or is_misspelling(places[0], places[1]):
            return 0.8, "namespaces that differ only in spelling"
        words = words_of(places[0]), words_of(places[1])
        shared = len(words[0] & words[1]) / max(1, len(words[0] | words[1]))
        return (0.5 if shared >= 0.5 else 0.3), differ
    if places[0] and places[0] == places[1]:
        return 0.6, differ
    return (0.6 if {*schemes} <= _CATALOGS else 0.0), differ


def _scheme_and_host(namespace: str) -> tuple[str, str]:
    scheme, separator, host = namespace.partition("://")
    if not separator:
        scheme, _, host = namespace.partition(":")
    return scheme, host.lower()


def _compare_containers(
    read: NameParts, written: NameParts, *, same_namespace: bool
) -> tuple[float, str] | None:
    """Return the similarity of databases, schemas or folders from 0 to 1, with its evidence."""
    if read.is_path != written.is_path:
        path, table = (read, written) if read.is_path else (written, read)
        above = [normalize(container) for container in path.containers[-1:]]
        schema = [normalize(container) for container in table.containers[-1:]]
        return (
            (0.6, f"the folder is named after {table.containers[-1]}")
            if above and above == schema
            else (0, "")
        )
    if any(is_variant(*pair) for pair in zip(read.containers[::-1], written.containers[::-1], strict=False)):
        return None
    if not read.is_path:
        return _compare_schemas(read, written)
    if not read.containers and not written.containers:
        return (1.0 if same_namespace else 0.5), ""
    folders = [tuple(map(normalize, parts.containers)) for parts in (read, written)]
    if folders[0] == folders[1]:
        return 1.0, "" if same_namespace else "same folders"
    shared = 0
    for one, other in zip(folders[0][::-1], folders[1][::-1], strict=False):
        if one != other:
            break
        shared += 1
    return shared / max(map(len, folders)), "other folders"


_WEIGHTS = (0.6, 0.4)  # of schema and database
_UNKNOWN = 0.75


def _compare_schemas(read: NameParts, written: NameParts) -> tuple[float, str]:
    pairs = [
        tuple(
            parts.containers[-1 - level] if level < len(parts.containers) else "" for parts in (read, written)
        )
        for level in range(max(len(read.containers), len(written.containers), 1))
    ]
    levels = len(pairs)
    weights = (1.0,) if levels == 1 else (*_WEIGHTS, *([0.0] * (levels - 2)))
    total, different, unknown = 0.0, [], False
    for (one, other), weight, kind in zip(
        pairs, weights, ("schema", "database", "catalog")[:levels], strict=False
    ):
        if not one or not other:
            unknown = unknown or one != other
            total += weight * (_UNKNOWN if one != other else 1.0)
        elif normalize(one) == normalize(other):
            total += weight
        else:
            different.append(f"{kind}s {one} and {other}")
    if different:
        return total, "; ".join(different)
    return total, "one name is incomplete" if unknown else "same database and schema" if levels > 1 else ""
