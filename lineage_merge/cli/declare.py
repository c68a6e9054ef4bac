"""The command `declare`: adds an edge that no tool reports to a file of declared lineage."""

import json
from datetime import datetime
from difflib import unified_diff
from pathlib import Path
from typing import Any

import click

from lineage_merge.cli.command import command
from lineage_merge.cli.error_handling import handle_errors
from lineage_merge.cli.options import user_name, with_config_file
from lineage_merge.model.errors import ConfigError, ErrorCollector


@command(
    'lineage-merge declare s3://partner/orders s3://raw/orders --why "a job of the partner"',
    'lineage-merge declare s3://raw/orders#id s3://lake/orders#order_id --why "a macro" --until 2027-06-30',
    short_help="Declare an edge that no tool reports.",
)
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option("--why", metavar="TEXT", required=True, help="why it is known")
@click.option("--by", metavar="NAME", help="who declares it  [default: the user of this machine]")
@click.option(
    "--until",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DAY",
    help="last day on which it counts  [default: no end]",
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="TARGET=SOURCE",
    help="a column of TO, and the columns of FROM that it is computed from, separated by commas",
)
@click.option(
    "--file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="YAML file to add it to  [default: the file of declared in the configuration]",
)
@click.option("--json", "as_json", is_flag=True, help="print the entry as JSON")
@with_config_file
def declare(
    source: str,
    target: str,
    why: str,
    by: str | None,
    until: datetime | None,
    columns: tuple[str, ...],
    file: Path | None,
    as_json: bool,
    config_file: Path | None,
) -> None:
    """Add an edge to a file of declared lineage.

    FROM and TO are datasets (a URI, or namespace|name), or columns of them (dataset#column). The next run
    reads the edge; where a tool reports the same one, the tool's counts.
    """
    entry: dict[str, Any] = {"from": source, "to": target, "why": why, "by": by or user_name()}
    if until:
        entry["until"] = str(until.date())
    with handle_errors():
        if columns:
            entry["columns"] = dict(map(_parse_column, columns))
        path = file or _configured_file(config_file)
        before = path.read_bytes().decode("utf-8") if path.exists() else ""
        after = _add(before, entry, str(path))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(after.encode())
        if as_json:
            click.echo(json.dumps({"file": str(path), "entry": entry}))
        else:
            lines = unified_diff(before.splitlines(), after.splitlines(), str(path), str(path), lineterm="")
            click.echo("\n".join(lines))
            click.echo(f"{path}: written", err=True)


def _parse_column(text: str) -> tuple[str, list[str]]:
    target, equals, sources = text.partition("=")
    names = [name.strip() for name in sources.split(",") if name.strip()]
    if not (equals and target.strip() and names):
        raise ConfigError("--column", f"expected TARGET=SOURCE, found {text}")
    return target.strip(), names


def _configured_file(config_file: Path | None) -> Path:
    """Return the only local file of the configuration. Raises `ConfigError` if there are more, or none."""
    from lineage_merge.orchestration.configuration import CONFIGURATION

    given = CONFIGURATION.collect(config_file).settings.get("declared") if config_file else None
    files = [given] if isinstance(given, str) else list(given or ())
    if len(files) == 1 and "://" not in files[0] and files[0].endswith((".yml", ".yaml")):
        return Path(files[0])
    found = f"declared has {len(files)} locations" if files else "no file of declared lineage is configured"
    raise ConfigError("--file", f"{found}: name the YAML file")


def _add(text: str, entry: dict[str, Any], location: str) -> str:
    """Return the text with one more edge. Raises `ConfigError` if the file would not be valid with it."""
    from lineage_merge.infra import yaml_editing
    from lineage_merge.sources.declared.declarations import parse_declarations

    after = yaml_editing.append(text, ["lineage"], entry)
    parsed = parse_declarations(after, location)
    if isinstance(parsed, list):
        errors = ErrorCollector()
        errors.errors += (ConfigError(found.field, found.message, found.document) for found in parsed)
        errors.raise_errors()
    return after
