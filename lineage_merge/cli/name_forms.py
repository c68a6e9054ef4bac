"""Names under which a query finds a dataset, job or column, for shell completion. Pure functions on ids."""

from collections import Counter
from collections.abc import Iterable, Iterator

from lineage_merge.graph_format.elements import name_parts, title_of_id
from lineage_merge.model.elements import decode

# A shell shows no more, and reading them would take longer.
MAX_NAMES = 500


def dataset_names(ids: Iterable[str], typed: str) -> list[str]:
    """Return a name for each dataset whose names begin with `typed`: the shortest that no other one has."""
    forms = {identifier: tuple(_forms(identifier)) for identifier in dict.fromkeys(ids)}
    counts = Counter(form for of_one in forms.values() for form in dict.fromkeys(of_one))
    found = (
        next((form for form in of_one if counts[form] == 1 and form.startswith(typed)), "")
        for of_one in forms.values()
    )
    return _sorted(found)


def column_names(dataset_ids: Iterable[str], column_ids: Iterable[str], typed: str) -> list[str]:
    """Return ``dataset#column`` for `typed`, which contains the dataset's name and the sign ``#``."""
    owner, _, start = typed.rpartition("#")
    owners = {identifier for identifier in dataset_ids if owner in _forms(identifier)}
    if len(owners) != 1:
        return []
    prefix = f"{owners.pop()}|"
    columns = (
        decode(identifier.removeprefix(prefix)) for identifier in column_ids if identifier.startswith(prefix)
    )
    return _sorted(f"{owner}#{column}" for column in columns if column.lower().startswith(start.lower()))


def job_names(ids: Iterable[str], typed: str) -> list[str]:
    """Return the names of jobs that begin with `typed`; the id of a job if its name is not unique."""
    names = {identifier: decode(identifier.rpartition("|")[2]) for identifier in dict.fromkeys(ids)}
    counts = Counter(names.values())
    found = (name if counts[name] == 1 else each for each, name in names.items())
    return _sorted(each for each in found if each.startswith(typed))


def environments(ids: Iterable[str], typed: str) -> list[str]:
    """Return the environments of vertices that begin with `typed`."""
    return _sorted(
        found for identifier in ids if (found := decode(identifier.partition("|")[0])).startswith(typed)
    )


def dags(job_ids: Iterable[str], typed: str) -> list[str]:
    """Return the DAGs of jobs that begin with `typed`."""
    found = (decode(identifier.split("|")[1]) for identifier in job_ids if identifier.count("|") >= 2)
    return _sorted(each for each in found if each.startswith(typed))


def _forms(dataset_id: str) -> Iterator[str]:
    """Yield short name, qualified name or URI, and ``namespace|name``."""
    _, namespace, name = name_parts(dataset_id)
    title = title_of_id(dataset_id)
    yield title.rstrip("/").rpartition("/" if "/" in title else ".")[2]
    yield title
    if title == name:
        yield f"{namespace}|{name}"


def _sorted(found: Iterable[str]) -> list[str]:
    return sorted({each for each in found if each})[:MAX_NAMES]
