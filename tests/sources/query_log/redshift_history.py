"""Rows of Redshift's system views for made-up sessions, in the shapes of AWS's documentation, as files."""

import csv
import io
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

_START = datetime(2026, 11, 2, 6, 0)  # noqa: DTZ001 - Redshift's times have no zone
_TEXT_LENGTH = 4000


@dataclass
class History:
    """The statements of some sessions; each takes a second."""

    database: str = "dw"
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    _at: datetime = _START
    _queries: int = 1000
    _transactions: int = 500

    def session(self, process: int, user: str = "etl") -> "Session":
        """Return a session."""
        return Session(self, process, user)

    def columns(self, table: str, *columns: str) -> None:
        """Add a table of the catalog, ``schema.table``; columns as ``name type``."""
        schema, name = table.split(".")
        for position, column in enumerate(columns, 1):
            column_name, _, kind = column.partition(" ")
            self.rows["svv_all_columns"].append(
                {
                    "database_name": self.database,
                    "schema_name": schema,
                    "table_name": name,
                    "column_name": column_name,
                    "ordinal_position": position,
                    "data_type": kind or "integer",
                }
            )

    def external(self, table: str, location: str) -> None:
        """Add an external table."""
        schema, name = table.split(".")
        self.rows["svv_external_tables"].append(
            {
                "redshift_database_name": self.database,
                "schemaname": schema,
                "tablename": name,
                "location": location,
            }
        )

    def view(self, name: str, definition: str) -> None:
        """Add a view of the catalog, as ``pg_get_viewdef`` gives it."""
        schema, view = name.split(".")
        self.rows["pg_views"].append(
            {
                "database_name": self.database,
                "schemaname": schema,
                "viewname": view,
                "definition": definition,
            }
        )

    def write(self, folder: Path) -> Path:
        """Write a folder of CSV per view."""
        for view, rows in self.rows.items():
            text = io.StringIO()
            writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
            (folder / view).mkdir(parents=True, exist_ok=True)
            (folder / view / "000.csv").write_text(text.getvalue())
        return folder


@dataclass
class Session:
    """A session: its statements, by default a transaction each."""

    history: History
    process: int
    user: str
    _transaction: int = 0

    def run(
        self,
        text: str,
        *,
        status: str = "success",
        label: str = "default",
        files: Sequence[str] = (),
        loaded: int | None = None,
        unloaded: int | None = None,
        written: Sequence[str] = (),
    ) -> int:
        """Add a statement; return its id."""
        with self.one_transaction(is_committed=status == "success"):
            history = self.history
            history._queries += 1
            begun = history._at
            history._at += timedelta(seconds=1)
            query = history._queries
            history.rows["sys_query_history"].append(
                {
                    "user_id": 100,
                    "query_id": query,
                    "query_label": label.ljust(320),
                    "transaction_id": self._transaction,
                    "session_id": self.process,
                    "database_name": history.database,
                    "query_type": "OTHER",
                    "status": status,
                    "start_time": str(begun),
                    "end_time": str(history._at),
                    "query_text": text[:_TEXT_LENGTH],
                    "username": self.user,
                }
            )
            for sequence in range(0, len(text), _TEXT_LENGTH):
                history.rows["sys_query_text"].append(
                    {
                        "query_id": query,
                        "sequence": sequence // _TEXT_LENGTH,
                        "start_time": str(begun),
                        "text": text[sequence : sequence + _TEXT_LENGTH],
                    }
                )
            for file in files:
                history.rows["sys_load_detail"].append(
                    {"query_id": query, "file_name": file, "start_time": str(begun)}
                )
            for file in written:
                history.rows["sys_unload_detail"].append(
                    {"query_id": query, "file_name": file.ljust(1280), "start_time": str(begun)}
                )
            if loaded is not None:
                history.rows["sys_load_history"].append(
                    {"query_id": query, "loaded_rows": loaded, "start_time": str(begun)}
                )
            if unloaded is not None:
                history.rows["sys_unload_history"].append(
                    {"query_id": query, "unloaded_rows": unloaded, "start_time": str(begun)}
                )
            return query

    @contextmanager
    def transaction(self, *, commit: bool = True) -> Iterator[None]:
        """Run statements in one transaction."""
        with self.one_transaction(is_committed=commit):
            self.run("BEGIN")
            yield
            self.run("COMMIT" if commit else "ROLLBACK")

    @contextmanager
    def call(self, text: str, status: str = "success") -> Iterator[None]:
        """Run statements inside a procedure."""
        with self.one_transaction(is_committed=status == "success"):
            self.run(text, status=status)
            row = self.history.rows["sys_query_history"][-1]
            yield
            row["end_time"] = str(self.history._at)
            self.history.rows["sys_procedure_call"].append(
                {"query_id": row["query_id"], "query_text": text, "start_time": row["start_time"]}
            )

    @contextmanager
    def one_transaction(self, *, is_committed: bool) -> Iterator[None]:
        """Run statements in one transaction, whose end only the view of transactions shows."""
        if self._transaction:
            yield
            return
        self.history._transactions += 1
        self._transaction = self.history._transactions
        yield
        status = "committed" if is_committed else "rolledback"
        self.history.rows["sys_transaction_history"].append(
            {
                "transaction_id": self._transaction,
                "status": status,
                "transaction_start_time": str(self.history._at),
            }
        )
        self._transaction = 0
