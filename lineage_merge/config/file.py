"""The YAML configuration file, local or on S3; relative paths in it are relative to its folder."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lineage_merge.config.layers import Layers, SettingOrigins
from lineage_merge.config.section import Section
from lineage_merge.config.settings import NO_HISTORY
from lineage_merge.infra import storage
from lineage_merge.model.errors import ConfigError, SourceError


def read(file: Path | str, sections: Iterable[Section]) -> Layers:
    """Return the settings of `file`, a path or s3://bucket/key, and their lines. Raises `ConfigError`."""
    from lineage_merge.infra import yaml_text  # imported late: --help does not need it

    origin = storage.shown(str(file))
    settings, lines = yaml_text.parse_with_lines(_text(file), origin)
    if not isinstance(settings, dict):
        raise ConfigError("", "must be a mapping with keys such as dag_name and environment", origin)
    history = settings.get("history")
    if isinstance(history, str) or history is False:
        settings["history"] = {"location": history or NO_HISTORY}
    exporters = settings.get("exporters")
    exporter_paths = (
        [(f"exporters.{name}", "out") for name in exporters] if isinstance(exporters, dict) else []
    )
    source_paths = [f"{source.key}.{path}".rpartition(".") for source in sections for path in source.paths]
    path_keys = [
        *((section, name) for section, _, name in source_paths),
        *exporter_paths,
        ("history", "location"),
    ]
    for section, name in path_keys:
        entries: Any = settings
        for part in section.split("."):
            entries = entries.get(part) if isinstance(entries, dict) else None
        for entry in entries if isinstance(entries, list) else [entries]:
            if isinstance(entry, dict) and isinstance(entry.get(name), str):
                entry[name] = _beside(file, entry[name])
            elif isinstance(entry, dict) and isinstance(entry.get(name), list):
                entry[name] = [_beside(file, e) if isinstance(e, str) else e for e in entry[name]]
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
        raise ConfigError("", f"cannot read {storage.shown(str(file))}: {reason}") from None


def _beside(file: Path | str, location: str) -> str:
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
        return str(local) if local.is_absolute() else _in_bucket(file, location)
    return str(Path(file).parent / local)


def _in_bucket(file: str, location: str) -> str:
    """Resolve a path relative to a file on S3, where ``.`` and ``..`` have no meaning in keys."""
    scheme, _, rest = file.partition("://")
    bucket, *folders = rest.split("/")[:-1]
    for part in location.split("/"):
        if part == "..":
            if not folders:
                raise ConfigError("", f"path outside of the bucket: {location}", storage.shown(file))
            folders.pop()
        elif part != ".":
            folders.append(part)
    return "/".join([f"{scheme}://{bucket}", *folders])
