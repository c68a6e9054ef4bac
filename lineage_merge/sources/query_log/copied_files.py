"""The datasets of the files that a COPY read. Pure."""

from collections import defaultdict
from collections.abc import Iterable


def datasets_of(files: Iterable[str]) -> tuple[str, ...]:
    """Return the folders of files; a file that is alone in its folder is returned itself.

    Keys without a bucket, which Redshift reports for some loads, are not returned.
    """
    folders: defaultdict[str, set[str]] = defaultdict(set)
    for file in files:
        name = file.strip()
        if "://" in name:
            folders[name.rpartition("/")[0]].add(name)
    found = {folder if len(names) > 1 else next(iter(names)) for folder, names in folders.items()}
    return tuple(sorted(found))
