"""Text to where it is wanted: a file, S3, or standard output."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from lineage_merge.infra.storage import write_file

Write = Callable[[str], None]

_LINES_AT_ONCE = 1000


@contextmanager
def text_to(place: str | None) -> Iterator[Write]:
    """A function that writes text, in UTF-8; None is standard output.

    A file stands there only when all of it is written. A half of a pair of surrogates, which is no
    character, becomes a question mark. Raises `SourceError` where the place cannot be written.
    """
    if place is None:

        def to_output(text: str) -> None:
            sys.stdout.write(text.encode("utf-8", "replace").decode())

        yield to_output
        sys.stdout.flush()
        return
    with TemporaryDirectory(prefix="lineage-merge-") as folder:
        file = Path(folder, "text")
        with file.open("w", encoding="utf-8", errors="replace", newline="\n") as stream:

            def to_file(text: str) -> None:
                stream.write(text)

            yield to_file
        write_file(place, file)


def write_lines(place: str | None, lines: Iterable[str]) -> None:
    """Lines, each with its end. Errors as `text_to`."""
    with text_to(place) as write:
        remaining = iter(lines)
        while some := list(islice(remaining, _LINES_AT_ONCE)):
            write("\n".join(some) + "\n")
