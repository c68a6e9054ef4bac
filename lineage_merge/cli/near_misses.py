"""The command `near-misses`: lists them, and accepts or dismisses one in the configuration file."""

from collections.abc import Sequence
from datetime import UTC, datetime
from difflib import unified_diff
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lineage_merge.cli.command import add_options, command
from lineage_merge.cli.dag import GRAPH_OPTIONS, config_and_file, print_answer
from lineage_merge.cli.error_handling import handle_errors, progress
from lineage_merge.cli.options import user_name
from lineage_merge.cli.query_options import demo_option
from lineage_merge.model.errors import Ambiguous, ConfigError, NotFound, did_you_mean

if TYPE_CHECKING:
    from lineage_merge.merge.report import NearMiss
    from lineage_merge.questions.merge_report import NearMissesResult


@command(
    "lineage-merge near-misses -c lineage_merge.yml",
    'lineage-merge near-misses dismiss dev.public.event --reason "of another tenant" -c lineage_merge.yml',
    "lineage-merge near-misses accept s3://lake/orders -c lineage_merge.yml --apply",
    short_help="List near misses, accept or dismiss one.",
)
@click.argument("action", type=click.Choice(["accept", "dismiss"]), required=False)
@click.argument("dataset", required=False)
@click.option("--by", metavar="NAME", help="who dismisses it  [default: the user of this machine]")
@click.option("--reason", metavar="TEXT", help="why the two are not one dataset")
@click.option(
    "--until",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DAY",
    help="last day on which it is dismissed  [default: no end]",
)
@click.option("--apply", "is_applied", is_flag=True, help="write the configuration file")
@click.option("--folder", metavar="DIR", help="read the node and edge files of build; needs no server")
@partial(add_options, options=GRAPH_OPTIONS)
@demo_option
def near_misses(
    action: str | None,
    dataset: str | None,
    by: str | None,
    reason: str | None,
    until: datetime | None,
    is_applied: bool,
    folder: str | None,
    demo: bool,
    **graph: Any,
) -> None:
    """List the near misses of the graph, or accept or dismiss one in the configuration file.

    accept adds what joins the two, dismiss an entry of merge.dismissed_near_misses; comments
    and layout stay. Without --apply they print the difference. DATASET is what is written or read, as the
    list has it, or the end of it.
    """
    if action is None:
        if by or reason or until or is_applied:
            raise click.UsageError("--by, --reason, --until and --apply are only for accept and dismiss")
        with handle_errors():
            result = _search(folder, {**graph, "dag_name": None}, demo=demo)
        print_answer(result, everything=False)
        return
    if dataset is None:
        raise click.UsageError(f"{action} requires DATASET")
    if demo:
        raise click.UsageError("--demo is only for the list: the samples have no configuration to change")
    if action == "dismiss" and not (reason or "").strip():
        raise click.UsageError("dismiss requires --reason")
    if action == "accept" and (reason or by or until):
        raise click.UsageError("--by, --reason and --until are only for dismiss")
    if until and until.date() < datetime.now(UTC).date():  # as for dismissals
        raise click.UsageError("--until is in the past")
    who = (by or user_name()) if action == "dismiss" else ""
    with handle_errors():
        from lineage_merge.merge.near_misses import decisions, dismissals
        from lineage_merge.merge.near_misses.fixes import as_yaml

        file = _location(graph["config_file"])
        found = _search(folder, {**graph, "config_file": file, "dag_name": None})
        near_miss = _select(dataset, found.near_misses)
        if action == "dismiss":
            day = str(until.date()) if until else ""
            entry = dismissals.entry(near_miss, who, str(reason), day)
            yaml = as_yaml({"merge": {"dismissed_near_misses": [entry]}})
            keys, change = [dismissals.KEY], partial(decisions.dismiss, entry=entry)
        else:
            if not near_miss.fix:
                raise ConfigError(
                    "", "no configuration joins them. Fix: correct the name in the job or project"
                )
            yaml, keys = near_miss.fix, decisions.keys_of(near_miss)
            change = partial(decisions.accept, near_miss=near_miss)
        try:
            before = _editable_text(file, keys)
            after = change(before)
        except ConfigError as error:
            click.echo(yaml, nl=False)
            raise ConfigError(
                error.key, f"{error.problem}. Fix: add the printed YAML there", error.origin
            ) from None
        _write(str(file), before, after, is_applied=is_applied)


def _location(file: Path | None) -> Path | str | None:
    """Return a file, or the location in S3 whose slashes a path has lost."""
    text = str(file)
    return f"s3://{text.removeprefix('s3:/')}" if text.startswith("s3:/") else file


def _search(folder: str | None, graph: dict[str, Any], *, demo: bool = False) -> "NearMissesResult":
    from lineage_merge.query.selection import GraphSelection
    from lineage_merge.query.session import open_session
    from lineage_merge.questions.merge_report import NearMissesQuestion
    from lineage_merge.questions.question import ask

    with progress(True) as on_progress:
        config, graph_file = config_and_file(graph, demo=demo, needs_dag=False)
        selection = GraphSelection(
            file=config, environment=config.environment, graph_file=graph_file, folder=folder, demo=demo
        )
        with open_session(selection, on_progress) as session:
            return ask(NearMissesQuestion(), session)


def _select(dataset: str, near_misses: Sequence["NearMiss"]) -> "NearMiss":
    """Return the near miss of a dataset. Raises `NotFound`, `Ambiguous`."""
    from lineage_merge.merge.report import dataset_text

    names = {pair: [dataset_text(pair.written), dataset_text(pair.read)] for pair in near_misses}
    exact = [pair for pair, ends in names.items() if dataset in (*ends, pair.written, pair.read)]
    matches = exact or [pair for pair, ends in names.items() if any(_is_end(name, dataset) for name in ends)]
    if not matches:
        raise NotFound(
            f"no near miss of {dataset}{did_you_mean(dataset, chain.from_iterable(names.values()))}"
        )
    if len(matches) > 1:
        pairs = tuple(" and ".join(names[pair]) for pair in matches)
        raise Ambiguous(f"several near misses of {dataset}", pairs)
    return matches[0]


def _is_end(name: str, end: str) -> bool:
    return name.endswith(end) and name[: -len(end)].endswith(("|", "/", "."))


def _editable_text(file: Path | str | None, keys: Sequence[str]) -> str:
    """Return the text of the configuration file. Raises `ConfigError` if a change of it has no effect."""
    from lineage_merge.infra.storage import is_s3
    from lineage_merge.merge.near_misses.decisions import path_of_key
    from lineage_merge.orchestration.configuration import CONFIGURATION

    if file is None or is_s3(str(file)):
        raise ConfigError("--config", "no local configuration file")
    others = CONFIGURATION.collect(file).origins.others
    for key in keys:
        names = [str(part) for part in path_of_key(key) if isinstance(part, str)]
        parents = {".".join(names[:length]) for length in range(1, len(names) + 1)}
        if origin := next((others[parent] for parent in parents if parent in others), ""):
            raise ConfigError(key, "is not set by the file", origin)
    # Not as text: line breaks stay as they are.
    return Path(file).read_bytes().decode("utf-8")


def _write(file: str, before: str, after: str, *, is_applied: bool) -> None:
    from lineage_merge.infra import storage

    if is_applied:
        storage.write_text(file, after)
    lines = unified_diff(before.splitlines(), after.splitlines(), file, file, lineterm="")
    click.echo("\n".join(lines))
    if is_applied:
        click.echo(f"{file}: written", err=True)
    else:
        click.echo(f"{file}: not written. Fix: --apply writes it", err=True)
