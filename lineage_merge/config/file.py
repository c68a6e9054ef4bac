"""The YAML file, local or on S3, and the paths in it that are relative to its folder."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lineage_merge.config.section import Section
from lineage_merge.infra import storage
from lineage_merge.model.errors import ConfigError, SourceError


def read(file: Path | str, sections: Iterable[Section]) -> dict[str, Any]:
    """Return the settings of a file, a path or s3://bucket/key. Raises `ConfigError`."""
    from lineage_merge.infra import yaml_text  # not above: flags and variables seldom need it, help never

    settings = yaml_text.parse(_text(file), "", str(file))
    if not isinstance(settings, dict):
        raise ConfigError("", f"{file}: expected keys such as dag_name and environment")
    sinks = settings.get("sinks")
    files_of_sinks = [(f"sinks.{name}", "out") for name in sinks] if isinstance(sinks, dict) else []
    files_of_sources = [
        f"{source.key}.{path}".rpartition(".") for source in sections for path in source.paths
    ]
    places = [*((section, name) for section, _, name in files_of_sources), *files_of_sinks]
    for section, name in places:
        entries: Any = settings
        for part in section.split("."):
            entries = entries.get(part) if isinstance(entries, dict) else None
        for entry in entries if isinstance(entries, list) else [entries]:
            if isinstance(entry, dict) and isinstance(entry.get(name), str):
                entry[name] = _beside(file, entry[name])
            elif isinstance(entry, dict) and isinstance(entry.get(name), list):
                entry[name] = [_beside(file, e) if isinstance(e, str) else e for e in entry[name]]
    return settings


def _text(file: Path | str) -> str:
    if isinstance(file, str) and storage.is_s3(file):
        try:
            return storage.read_text(file)
        except SourceError as error:
            raise ConfigError("", f"cannot read {error.message}") from None
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        # A name may have what no file's name can: a zero, or half of a character.
        odd = "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else "not the name of a file"
        reason = error.strerror if isinstance(error, OSError) else odd
        raise ConfigError("", f"cannot read {storage.shown(str(file))}: {reason}") from None


def _beside(file: Path | str, location: str) -> str:
    """Resolve a location in a configuration file: a relative path is relative to the file's folder.

    An absolute path and one that begins with ``~`` are local, wherever the file is.
    """
    if "://" in location:
        return location
    try:
        local = Path(location).expanduser()
    except RuntimeError:  # ~user without such a user
        local = Path(location)
    if isinstance(file, str) and storage.is_s3(file):
        return str(local) if local.is_absolute() else _in_bucket(file, location)
    return str(Path(file).parent / local)


def _in_bucket(file: str, location: str) -> str:
    """Join a relative path to the prefix of a file in S3, whose keys have no ``.`` and ``..``."""
    scheme, _, rest = file.partition("://")
    bucket, *folders = rest.split("/")[:-1]
    for part in location.split("/"):
        if part == "..":
            if not folders:
                raise ConfigError("", f"{file}: {location} leads out of the bucket")
            folders.pop()
        elif part != ".":
            folders.append(part)
    return "/".join([f"{scheme}://{bucket}", *folders])
