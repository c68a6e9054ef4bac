"""Origins of settings: the line of the file, the environment variable or the flag that set a key."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lineage_merge.model.errors import ConfigError

# A damaged file may have thousands of errors.
MAX_FINDINGS = 20


@dataclass(frozen=True, slots=True)
class Origins:
    """Where settings were set: the `file`, its `lines` by path, and variables or flags by path (`others`).

    Paths are texts such as ``dbt[0].manifest``, as in messages. `unknown_variables` have the prefix of this
    package's variables, but set no key.
    """

    file: str = ""
    lines: Mapping[str, int] = field(default_factory=dict)
    others: Mapping[str, str] = field(default_factory=dict)
    unknown_variables: tuple[str, ...] = ()

    def of(self, path: str) -> str:
        """Return ``lineage_merge.yml:12``, ``--dag-name`` or ``LINEAGE_MERGE_DAG_NAME``; "" if unknown.

        A missing key has the origin of the section that lacks it.
        """
        parts = list(_with_parents(path))
        # A variable or flag replaces the whole value of the file.
        for part in parts:
            if part in self.others:
                return self.others[part]
        line = next((self.lines[part] for part in parts if part in self.lines), 0)
        return f"{self.file}:{line}" if line else self.file

    def locate(self, errors: Iterable[ConfigError]) -> ConfigError:
        """Return one error with all findings, each with its origin, in the order of the file's lines."""
        findings = {
            (each.key, each.problem): ConfigError(each.key, each.problem, each.origin or self.of(each.key))
            for error in errors
            for each in error.findings
        }
        found = sorted(findings.values(), key=self._position)
        if len(found) > MAX_FINDINGS:
            more = ConfigError("", f"{len(found) - MAX_FINDINGS + 1} more errors", self.file)
            found = [*found[: MAX_FINDINGS - 1], more]
        first, *others = found
        return ConfigError(first.key, first.problem, first.origin, tuple(others))

    def _position(self, error: ConfigError) -> tuple[bool, int]:
        file, _, line = error.origin.rpartition(":")
        return (False, int(line)) if file == self.file and line.isdigit() else (True, 0)


def _with_parents(path: str) -> Iterator[str]:
    """Yield a path and those that contain it: ``dbt[0].manifest``, ``dbt[0]`` and ``dbt``."""
    while path:
        yield path
        path = path[: max(path.rfind("."), path.rfind("["), 0)]


class Layers(NamedTuple):
    """The settings of all layers in the structure of the YAML file, and their origins."""

    settings: dict[str, Any]
    origins: Origins
