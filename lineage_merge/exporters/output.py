"""Text output to a file, S3 or standard output."""

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
def open_text(destination: str | None) -> Iterator[Write]:
    """Yield a function that writes UTF-8 text; `destination` None is standard output.

    A file is created only after all text was written. Unpaired surrogates become question marks. Raises
    `SourceError` if the destination cannot be written.
    """
    if destination is None:

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
        write_file(destination, file)


def write_lines(destination: str | None, lines: Iterable[str]) -> None:
    """Write lines, adding line ends. Raises the errors of `open_text`."""
    with open_text(destination) as write:
        remaining = iter(lines)
        while batch := list(islice(remaining, _LINES_AT_ONCE)):
            write("\n".join(batch) + "\n")
