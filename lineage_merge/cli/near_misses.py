"""Printing of near misses: what is written and read under different names, the evidence, and the fix."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from textwrap import indent
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from lineage_merge.model.elements import decode

if TYPE_CHECKING:
    from lineage_merge.merge.report import NearMiss

TITLE = "near misses: written and read under different names, not joined"
_COMMAND = "lineage-merge report --near-misses"


def print_near_misses(console: Console, found: Sequence["NearMiss"], limit: int | None = None) -> None:
    """Print near misses, those with the same fix together; of more than `limit` the best."""
    if not found:
        return
    console.print(Text(f"\n{TITLE}:", style="bold"))
    for line in lines(found, limit):
        console.print(Text(line), soft_wrap=True)


def lines(found: Sequence["NearMiss"], limit: int | None = None) -> Iterator[str]:
    """Yield the lines about near misses."""
    best: dict[str, int] = {}
    for number, each in enumerate(found):
        best.setdefault(each.fix, number)
    # The group of the best one first.
    order = sorted(range(len(found)), key=lambda number: (best[found[number].fix], number))
    shown = [found[number] for number in order][:limit]
    for fix, group in groupby(shown, key=lambda each: each.fix):
        members = list(group)
        for each in members:
            yield f"  written  {dataset_text(each.written)}"
            yield f"  read     {dataset_text(each.read)}"
            yield f"           score {each.score}: {'; '.join(each.evidence)}"
        if fix:
            number = sum(each.fix == fix for each in found)
            joins = f"joins {number} near misses" if number > 1 else "joins them"
            yield f"  Fix: {members[0].fix_key} {joins}:"
            yield indent(fix.rstrip(), "    ")
        else:
            yield "  Fix: correct the name in the job or the project; no configuration joins them"
    if len(shown) < len(found):
        yield f"  ... and {len(found) - len(shown):,} more: {_COMMAND}"


def dataset_text(identifier: str) -> str:
    """Return ``namespace|name`` of the id of a dataset, or the path of a file."""
    _, namespace, name = map(decode, identifier.split("|", 2))
    is_bucket = namespace.partition("://")[0] in ("s3", "gs")
    return f"{namespace}/{name}" if is_bucket else f"{namespace}|{name}"
