"""Tables of the answers of `freshness`, `tests` and `why`."""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from rich.table import Table
from rich.text import Text

from lineage_merge.graph_format.elements import title_of_id
from lineage_merge.model.times import duration_text, utc_time
from lineage_merge.questions.assertions import Checks
from lineage_merge.questions.causes import Cause, Diagnosis
from lineage_merge.questions.formats.describe import one_line, truncate
from lineage_merge.questions.formats.freshness_text import cause_text, reasons_text
from lineage_merge.questions.formats.table import add_row, new_table
from lineage_merge.questions.freshness import MEANINGS, Freshness

# Datasets of a path that is shown in full.
_SHORT_PATH = 4
_MOST_LISTED = 10


def freshness_tables(shown: Sequence[Freshness], everything: Sequence[Freshness]) -> Iterator[Table | Text]:
    """Yield a row per dataset, the numbers of all datasets by status, and what `current` stands for."""
    titles = {each.dataset.id: each.dataset.title for each in everything}
    table = new_table(
        "dataset", "last write", "newest row", "age", "freshness check", "status", "reason", "because of"
    )
    for each in shown:
        update, cause = each.update, each.because_of
        written = utc_time(update.written_at)
        if update.is_uncertain:
            written = f"before {utc_time(update.failed_at)}"
        add_row(
            table,
            each.dataset.title,
            written,
            utc_time(update.loaded_at),
            duration_text(each.age_ms),
            str(update.check.properties.get("status", "no result")) if update.check else "",
            each.status,
            reasons_text(each),
            cause_text(cause, titles[cause.dataset]) if cause else "",
        )
    yield table
    if shown:
        yield Text()
    counts = freshness_counts(everything)
    yield Text(f"{_number(len(everything), 'dataset')}: {_listed(counts.items())}")
    if any(each.status == "current" for each in shown):
        yield Text(f"current: {MEANINGS['current']} (freshness check, --older-than, policy)")


def freshness_counts(found: Iterable[Freshness]) -> dict[str, int]:
    """Return the numbers of datasets by status."""
    counts = Counter(each.status for each in found)
    return {status: counts[status] for status in MEANINGS}


def check_tables(found: Checks, shown: Checks, scope: str) -> Iterator[Table | Text]:
    """Yield a row per check of `shown`, then the numbers of all checks and the datasets without any."""
    table = new_table(
        "dataset", "column", "test", "type", "severity", "status", "failures", "last run", "distance"
    )
    for each in shown.checks:
        held = each.assertion.properties
        dataset = found.datasets.get(each.dataset)
        add_row(
            table,
            dataset.title if dataset else title_of_id(each.dataset),
            each.column,
            each.assertion.name,
            str(held.get("assertion_type", "")),
            str(held.get("severity", "")),
            each.status or "no result",
            held.get("failures", ""),
            utc_time(held.get("last_run_at")),
            "" if each.distance is None else each.distance,
        )
    yield table
    if shown.checks:
        yield Text()
    # A test may check several datasets.
    status_of = {each.assertion.id: each.status or "without result" for each in found.checks}
    counts = _listed(sorted(Counter(status_of.values()).items()))
    yield Text(one_line(f"{_number(len(status_of), 'test')}{scope}" + (f": {counts}" if counts else "")))
    if found.unchecked:
        titles = [each.title for each in found.unchecked[:_MOST_LISTED]]
        more = len(found.unchecked) - len(titles)
        listed = ", ".join([*titles, *([f"{more:,} more"] if more else [])])
        yield Text(one_line(f"{_number(len(found.unchecked), 'dataset')} without tests: {listed}"))


def cause_lines(title: str, found: Diagnosis, options: Sequence[str]) -> Iterator[Text]:
    """Yield causes, one paragraph per dataset and kind, then what was checked.

    `options` are added to the commands.
    """
    if found.causes:
        yield Text(one_line(f"why {title} may be late or wrong, nearest causes first:"), style="bold")
    groups = groupby(found.causes, key=lambda each: (each.kind, each.dataset))
    for number, (_, group) in enumerate(groups, 1):
        causes = list(group)
        yield Text()
        yield from _paragraph(number, causes, found, options)
    if found.causes:
        yield Text()
    yield Text(f"checked: {checked_text(found)}")


def cause_table(found: Diagnosis, options: Sequence[str]) -> Table:
    """Return a row per cause, nearest first; `options` are added to the commands."""
    title = found.situation.title
    table = new_table("cause", "dataset", "distance", "evidence", "at", "path", "next")
    for each in found.causes:
        add_row(
            table,
            each.kind.replace("_", " "),
            title(each.dataset),
            each.distance,
            each.finding.evidence,
            utc_time(each.finding.at),
            " → ".join(map(title, each.path)),
            command_text(each.finding.next, options),
        )
    return table


def checked_text(found: Diagnosis) -> str:
    """Return the numbers of what was checked, and of what has no known run or result."""
    counts = found.counts
    datasets = f"{_number(counts['datasets'], 'dataset')} up to distance {counts['max_distance']}"
    parts = (
        datasets + _without(counts["datasets_without_known_update"], "a known update"),
        _number(counts["jobs"], "job") + _without(counts["jobs_without_known_run"], "a known run"),
        _number(counts["tests"], "test"),
        _number(counts["freshness_checks"], "freshness check"),
    )
    missing = counts["assertions_without_result"]
    return ", ".join(parts) + (f"; {_number(missing, 'test or check')} without a result" if missing else "")


def command_text(words: Sequence[str], options: Sequence[str]) -> str:
    """Return a command of lineage-merge, quoted for a shell."""
    return one_line(shlex.join(["lineage-merge", *words, *options]))


def _paragraph(
    number: int, causes: Sequence[Cause], found: Diagnosis, options: Sequence[str]
) -> Iterator[Text]:
    situation, first = found.situation, causes[0]
    kind = first.kind.replace("_", " ") + ("s" if len(causes) > 1 else "")
    where = "at the dataset itself" if first.distance == 0 else f"distance {first.distance}"
    yield Text(one_line(f"{number}. {kind}: {situation.title(first.dataset)} ({where})"))
    for each in causes:
        yield Text(f"   {truncate(one_line(each.finding.evidence), 300)}")
    if first.distance:
        titles = [situation.title(each) for each in first.path]
        if len(titles) > _SHORT_PATH:
            titles = [*titles[:2], f"({len(titles) - 3} more)", titles[-1]]
        yield Text(f"   path: {one_line(' → '.join(titles))}")
    for command in dict.fromkeys(command_text(each.finding.next, options) for each in causes):
        yield Text(f"   {command}")


def _number(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _without(number: int, what: str) -> str:
    return f" ({number:,} without {what})" if number else ""


def _listed(counts: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{number:,} {what}" for what, number in counts if number)
