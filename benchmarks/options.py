"""Options that all benchmarks have.

::

    parser = argparse.ArgumentParser(...)
    parser.add_argument("--vertices", type=int, default=100_000)
    options.add_to(parser, smallest={"vertices": 200})
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import results

# Exit code of a benchmark that this machine cannot run.
SKIPPED = 77


def add_to(parser: argparse.ArgumentParser, smallest: Mapping[str, object]) -> None:
    """Add ``--results`` and ``--smallest``, which gives other options the values of `smallest`."""
    parser.add_argument(
        "--results",
        type=lambda text: None if text == "none" else Path(text),
        default=results.FILE,
        metavar="FILE",
        help="where the figures are appended; `none` keeps nothing (default: benchmarks/results.jsonl)",
    )
    values = {"results": None, **smallest}
    shown = " ".join(f"--{name.replace('_', '-')} {_text(value)}" for name, value in values.items())
    parser.add_argument(
        "--smallest",
        nargs=0,
        action=_Smallest,
        const=values,
        default=False,
        help=f"a test run: {shown}; options after it take precedence",
    )


class _Smallest(argparse.Action):
    """Sets several options."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Set them."""
        for name, value in self.const.items():
            if not hasattr(namespace, name):
                raise AttributeError(f"{parser.prog} has no option {name}")
            setattr(namespace, name, value)
        namespace.smallest = True


def _text(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value).lower()
