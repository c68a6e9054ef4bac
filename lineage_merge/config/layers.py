"""Layers of settings: file, environment variables, flags; later ones take precedence. No validation.

The YAML file is local or on S3; relative paths in it are relative to its folder.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from lineage_merge.config.section import PREFIX, Key
from lineage_merge.config.settings import NO_HISTORY
from lineage_merge.infra import storage
from lineage_merge.infra.json_schema import PATH
from lineage_merge.model.errors import ConfigError, SourceError

# A damaged file may have thousands of errors.
MAX_FINDINGS = 20


@dataclass(frozen=True, slots=True)
class SettingOrigins:
    """Where settings were set: the `file`, its `lines` by path, and variables or flags by path (`others`).

    Paths are texts such as ``dbt[0].manifest``, as in messages. `unknown_variables` have the prefix of this
    package's variables, but set no key.
    """

    file: str = ""
    lines: Mapping[str, int] = field(default_factory=dict)
    others: Mapping[str, str] = field(default_factory=dict)
    unknown_variables: tuple[str, ...] = ()

    def find_origin(self, path: str) -> str:
        """Return ``lineage_merge.yml:12``, ``--dag-name`` or ``LINEAGE_MERGE_DAG_NAME``; "" if unknown.

        A missing key has the origin of the section that lacks it.
        """
        parts = list(_list_parents(path))
        # A variable or flag replaces the whole value of the file.
        for part in parts:
            if part in self.others:
                return self.others[part]
        line = next((self.lines[part] for part in parts if part in self.lines), 0)
        return f"{self.file}:{line}" if line else self.file

    def locate(self, errors: Iterable[ConfigError]) -> ConfigError:
        """Return one error with all findings, each with its origin, in the order of the file's lines."""
        findings = {
            (finding.key, finding.problem): ConfigError(
                finding.key, finding.problem, finding.origin or self.find_origin(finding.key)
            )
            for error in errors
            for finding in error.findings
        }
        ordered = sorted(findings.values(), key=self._position)
        if len(ordered) > MAX_FINDINGS:
            more = ConfigError("", f"{len(ordered) - MAX_FINDINGS + 1} more errors", self.file)
            ordered = [*ordered[: MAX_FINDINGS - 1], more]
        first, *others = ordered
        return ConfigError(first.key, first.problem, first.origin, tuple(others))

    def _position(self, error: ConfigError) -> tuple[bool, int]:
        file, _, line = error.origin.rpartition(":")
        return (False, int(line)) if file == self.file and line.isdigit() else (True, 0)


def _list_parents(path: str) -> Iterator[str]:
    """Yield a path and those that contain it: ``dbt[0].manifest``, ``dbt[0]`` and ``dbt``."""
    while path:
        yield path
        path = path[: max(path.rfind("."), path.rfind("["), 0)]


class Layers(NamedTuple):
    """The settings of all layers in the structure of the YAML file, and their origins."""

    settings: dict[str, Any]
    origins: SettingOrigins


def add_layers(
    layers: Layers, keys: Iterable[Key], environ: Mapping[str, str], flags: Mapping[str, str]
) -> Layers:
    """Set keys from environment variables and flags (by dotted key); flags take precedence.

    Empty variables are ignored. Raises `ConfigError` with all findings.
    """
    origins: dict[str, str] = {}
    unknown = {name for name, value in environ.items() if name.startswith(PREFIX) and value}
    errors: list[ConfigError] = []
    for key in keys:
        unknown.discard(key.variable)
        text = flags.get(key.dotted, environ.get(key.variable) or None)
        if text is None:
            continue
        origins[key.dotted] = key.flag if key.dotted in flags else key.variable
        try:
            _set(layers.settings, key, text, origins[key.dotted])
        except ConfigError as error:
            errors.append(error)
    if errors:
        raise layers.origins.locate(errors)
    return Layers(
        layers.settings, replace(layers.origins, others=origins, unknown_variables=tuple(sorted(unknown)))
    )


def _set(settings: dict[str, Any], key: Key, text: str, origin: str) -> None:
    node = settings
    for name in key.path[:-1]:
        if node.get(name) is None:
            node[name] = {}
        node = node[name]
        if not isinstance(node, dict):
            raise ConfigError(key.dotted, f"{name} is not a mapping in the file", origin)
    node[key.path[-1]] = _value(key, text, origin)


_BOOLEANS = {"true": True, "yes": True, "on": True, "1": True}
_BOOLEANS |= {"false": False, "no": False, "off": False, "0": False}


def _value(key: Key, text: str, origin: str) -> Any:
    """Convert the text of a flag or variable to the type in the schema; return the text if that fails."""
    match key.schema.get("type"):
        case "boolean":
            return _BOOLEANS.get(text.strip().lower(), text)
        case "integer" | "number" as kind:
            try:
                return int(text) if kind == "integer" else float(text)
            except ValueError:
                return text
        case "array" | ["array", *_] if key.schema["items"][
            "type"
        ] == "string" and not text.lstrip().startswith(("[", "- ")):
            # Not parsed as YAML, where a glob that begins with * is an alias.
            return [item.strip() for item in text.split(",") if item.strip()]
        case "array" | "object" | ["array", *_]:
            from lineage_merge.infra import yaml_text

            return yaml_text.parse(text, origin, key.dotted)
    return text


def read(file: Path | str, schema: Mapping[str, Any]) -> Layers:
    """Return the settings of `file`, a path or s3://bucket/key, and their lines. Raises `ConfigError`."""
    from lineage_merge.infra import yaml_text  # imported late: --help does not need it

    origin = storage.redact_location(str(file))
    settings, lines = yaml_text.parse_with_lines(_text(file), origin)
    if not isinstance(settings, dict):
        raise ConfigError("", "must be a mapping with keys such as dag_name and environment", origin)
    history = settings.get("history")
    if isinstance(history, str) or history is False:
        settings["history"] = {"location": history or NO_HISTORY}
    settings = _resolve_paths(settings, schema, file)
    return Layers(settings, SettingOrigins(origin, lines))


def _text(file: Path | str) -> str:
    if isinstance(file, str) and storage.is_s3(file):
        try:
            return storage.read_text(file)
        except SourceError as error:
            raise ConfigError("", f"cannot read {error.message}") from None
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        # ValueError: the content is not UTF-8, or the path has a NUL or an unpaired surrogate.
        invalid = "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else "not the name of a file"
        reason = error.strerror if isinstance(error, OSError) else invalid
        raise ConfigError("", f"cannot read {storage.redact_location(str(file))}: {reason}") from None


def _resolve_paths(settings: Any, schema: Mapping[str, Any], file: Path | str) -> Any:
    """Return settings, which may be invalid, with the locations that are relative to their file resolved."""
    if isinstance(settings, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties")
        of_other = others if isinstance(others, dict) else {}
        return {key: _resolve_paths(each, known.get(key, of_other), file) for key, each in settings.items()}
    if isinstance(settings, list):
        is_path = {PATH: schema.get(PATH, False)}
        return [_resolve_paths(each, is_path | schema.get("items", {}), file) for each in settings]
    return _resolve_beside(file, settings) if isinstance(settings, str) and schema.get(PATH) else settings


def _resolve_beside(file: Path | str, location: str) -> str:
    """Resolve a location in a configuration file: relative paths are relative to the file's folder.

    Absolute paths and paths that begin with ``~`` are local, also if the file is on S3.
    """
    if "://" in location or location == NO_HISTORY:
        return location
    try:
        local = Path(location).expanduser()
    except RuntimeError:  # ~user without such a user
        local = Path(location)
    if isinstance(file, str) and storage.is_s3(file):
        return str(local) if local.is_absolute() else _resolve_in_bucket(file, location)
    return str(Path(file).parent / local)


def _resolve_in_bucket(file: str, location: str) -> str:
    """Resolve a path relative to a file on S3, where ``.`` and ``..`` have no meaning in keys."""
    scheme, _, rest = file.partition("://")
    bucket, *folders = rest.split("/")[:-1]
    for part in location.split("/"):
        if part == "..":
            if not folders:
                raise ConfigError(
                    "", f"path outside of the bucket: {location}", storage.redact_location(file)
                )
            folders.pop()
        elif part != ".":
            folders.append(part)
    return "/".join([f"{scheme}://{bucket}", *folders])
