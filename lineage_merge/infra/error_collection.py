"""Collection of configuration errors, so that all of them are reported at once."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from lineage_merge.model.errors import ConfigError

T = TypeVar("T")


class ErrorCollector:
    """Collects the configuration errors of several steps."""

    def __init__(self) -> None:
        self.errors: list[ConfigError] = []

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Collect the error of a block, which ends there."""
        try:
            yield
        except ConfigError as error:
            self.errors.append(error)

    def get(self, parse: Callable[[], T], default: T) -> T:
        """Return the result of `parse`, or `default` after collecting its error."""
        try:
            return parse()
        except ConfigError as error:
            self.errors.append(error)
            return default

    def raise_errors(self) -> None:
        """Raise one `ConfigError` with all collected errors, if there are any."""
        if not self.errors:
            return
        first, *others = (finding for error in self.errors for finding in error.findings)
        raise ConfigError(first.key, first.problem, first.origin, tuple(others))
