"""Files that a COPY read or an UNLOAD wrote, as datasets: their folders. Pure."""

import re
from collections import defaultdict
from collections.abc import Iterable

_UNLOADED_TO = re.compile(r"\)\s*to\s*'([^']*)'", re.IGNORECASE)


def datasets_of(files: Iterable[str]) -> tuple[str, ...]:
    """Return the folders of files that a COPY read; a file that is alone in its folder is returned itself.

    Keys without a bucket, which Redshift reports for some loads, are not returned.
    """
    folders: defaultdict[str, set[str]] = defaultdict(set)
    for file in files:
        name = file.strip()
        if "://" in name:
            folders[name.rpartition("/")[0]].add(name)
    return tuple(sorted(folder if len(names) > 1 else next(iter(names)) for folder, names in folders.items()))


def find_unload_folders(text: str, files: Iterable[str]) -> tuple[str, ...]:
    """Return the folders that an UNLOAD wrote to, () if it is its path: the names of files begin with that.

    `text`: its template. A bucket is no dataset: then the path is, too.
    """
    destination = _UNLOADED_TO.search(text)
    folders = {file.strip().rpartition("/")[0] for file in files}
    if destination is None or any(
        f"{folder}/".startswith(f"{destination[1].rstrip('/')}/") for folder in folders
    ):
        return ()
    return tuple(sorted(folder for folder in folders if folder.count("/") > _SLASHES_OF_BUCKET))


# Of s3://bucket.
_SLASHES_OF_BUCKET = 2
