"""Print as JSON which packages of this environment each extra of a package brings: {package: [extra, ...]}.

Run by the Python of the environment that is looked at, so it imports nothing but `packaging`.
"""

import json
import re
import sys
from importlib.metadata import PackageNotFoundError, requires

from packaging.requirements import Requirement

# Not for users: what only tests and their tools need has no row of its own.
_NOT_FOR_USERS = ("airflow", "dev", "test")


def brought(package: str, extras: frozenset[str]) -> set[str]:
    """The names of all that a package needs, with these extras, as far as it is installed."""
    found: set[str] = set()
    open_ends = [(package, extras)]
    seen = set(open_ends)
    while open_ends:
        name, wanted = open_ends.pop()
        try:
            needs = requires(name) or []
        except PackageNotFoundError:
            continue
        found.add(name)
        for requirement in map(Requirement, needs):
            marker = requirement.marker
            if marker and not any(marker.evaluate({"extra": extra}) for extra in wanted or {""}):
                continue
            following = (normal(requirement.name), frozenset({"", *requirement.extras}))
            if following not in seen:
                seen.add(following)
                open_ends.append(following)
    return found


def normal(name: str) -> str:
    """A package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def main(package: str) -> None:
    """Print what each extra adds to the package alone, which is called base."""
    text = requires(package) or []
    extras = {found[1] for line in text if (found := re.search(r"extra == ['\"]([\w-]+)['\"]", line))}
    base = brought(package, frozenset({""}))
    bringing = {name: ["base"] for name in base}
    for extra in sorted(extras - set(_NOT_FOR_USERS)):
        for name in brought(package, frozenset({"", extra})) - base:
            bringing.setdefault(name, []).append(extra)
    sys.stdout.write(json.dumps(bringing))


if __name__ == "__main__":
    main(normal(sys.argv[1]))
