"""The wait for Spline in Airflow's triggerer: a check at intervals, without a worker.

Holds no password: it is read through the connection, or from Secrets Manager with the triggerer's own role,
when the trigger runs.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from time import time
from typing import TYPE_CHECKING, Any

from lineage_merge.orchestration.airflow.compat import (
    BaseTrigger,
    TriggerEvent,
    base_hook,
    in_thread,
)

if TYPE_CHECKING:
    from lineage_merge.sources.spline.settings import Arango


class SplineTrigger(BaseTrigger):  # type: ignore[misc] # Airflow is not there when this is checked
    """Asks Spline until it knows the expected runs or `deadline` (seconds since 1970) has passed.

    The event has `missing`, a line that is empty if all have reported, and `error`, one that is final.
    `conn_id`: the connection with the password, if that is where it comes from.
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
        """Return the class and its arguments, as Airflow's database keeps them."""
        names = ("arango", "conn_id", "expected", "lookback_seconds", "poll_seconds", "deadline")
        return f"{__name__}.SplineTrigger", {name: getattr(self, name) for name in names}

    async def run(self) -> AsyncIterator[Any]:
        """Yield one event."""
        from lineage_merge.model.errors import LineageMergeError, SourceUnreachable

        while True:
            try:
                missing = await in_thread(self._missing)
            except SourceUnreachable as error:
                missing = error.message  # as a late report: it may answer next time
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
        from lineage_merge.orchestration.airflow.wait import problem
        from lineage_merge.sources.spline.run_availability import ExpectedRuns, missing_runs

        expected = [ExpectedRuns(name, tuple(run_ids), since) for name, run_ids, since in self.expected]
        return problem(missing_runs(self._settings(), expected, timedelta(seconds=self.lookback_seconds)))

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
