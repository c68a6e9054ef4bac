"""Trigger that waits for Spline: periodic checks without a worker.

Contains no password: it is read from the connection, or from Secrets Manager with the triggerer's role, when
the trigger runs.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from time import time
from typing import TYPE_CHECKING, Any

from lineage_merge.airflow.compat import (
    BaseTrigger,
    TriggerEvent,
    base_hook,
    in_thread,
)

if TYPE_CHECKING:
    from lineage_merge.sources.spline.settings import Arango


class SplineTrigger(BaseTrigger):  # type: ignore[misc] # mypy runs without Airflow
    """Polls Spline until it has the expected runs, or until `deadline` (seconds since 1970).

    The event has `missing`, a line that is empty if all runs were reported, and `error`, a permanent error.
    `conn_id`: the connection with the password, if it has one.
    """

    def __init__(
        self,
        arango: Mapping[str, Any],
        conn_id: str | None,
        expected: Sequence[Sequence[Any]],
        lookback_seconds: float,
        poll_seconds: float,
        deadline: float,
    ) -> None:
        super().__init__()
        self.arango = dict(arango)
        self.conn_id = conn_id
        self.expected = [list(each) for each in expected]
        self.lookback_seconds = lookback_seconds
        self.poll_seconds = poll_seconds
        self.deadline = deadline

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the class and its arguments, for Airflow's database."""
        names = ("arango", "conn_id", "expected", "lookback_seconds", "poll_seconds", "deadline")
        return f"{__name__}.SplineTrigger", {name: getattr(self, name) for name in names}

    async def run(self) -> AsyncIterator[Any]:
        """Yield one event."""
        from lineage_merge.model.errors import LineageMergeError, SourceUnreachable

        while True:
            try:
                missing = await in_thread(self._missing)
            except SourceUnreachable as error:
                missing = error.message  # like a late report: retried at the next check
            except LineageMergeError as error:
                yield TriggerEvent({"missing": "", "error": error.message})
                return
            except Exception as error:  # noqa: BLE001 (an exception here loses the reason)
                yield TriggerEvent({"missing": "", "error": f"{type(error).__name__}: {error}"})
                return
            if not missing or time() + self.poll_seconds > self.deadline:
                yield TriggerEvent({"missing": missing, "error": ""})
                return
            self.log.info("%s", missing)
            await asyncio.sleep(self.poll_seconds)

    def _missing(self) -> str:
        from lineage_merge.sources.spline.run_availability import (
            ExpectedRuns,
            missing_runs,
            missing_text,
        )

        expected = [ExpectedRuns(name, tuple(run_ids), since) for name, run_ids, since in self.expected]
        lookback = timedelta(seconds=self.lookback_seconds)
        return missing_text(missing_runs(self._settings(), expected, lookback))

    def _settings(self) -> "Arango":
        from lineage_merge.sources.spline.settings import Arango

        if not self.conn_id:
            return Arango(**self.arango)

        @dataclass(frozen=True, slots=True)
        class WithPassword(Arango):
            given: str = field(default="", repr=False)

            def password(self) -> str:
                return self.given

        password = base_hook().get_connection(self.conn_id).password or ""
        return WithPassword(**self.arango, given=password)
