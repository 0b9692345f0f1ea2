"""What moto does not model (add-ons, access entries, pod identities, ...), kept on disk.

SQLite in WAL mode: a write is there whole or not at all, also after `kill -9`, and the provider,
the node reconciler and the credential server may use it at once.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

_SCHEMA = """
CREATE TABLE IF NOT EXISTS things (
    kind TEXT NOT NULL, name TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (kind, name)
)
"""
_PATIENCE_SECONDS = 10


class Store:
    """Records by kind and name, each a JSON object."""

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._file = file
        with self._open() as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(_SCHEMA)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        opened = closing(sqlite3.connect(self._file, timeout=_PATIENCE_SECONDS))
        with opened as connection, connection:  # the second one commits or rolls back
            yield connection

    def add(self, kind: str, name: str, body: dict[str, Any]) -> bool:
        """Keep a new record; False when the name is taken."""
        with self._open() as connection:
            done = connection.execute(
                "INSERT OR IGNORE INTO things VALUES (?, ?, ?)", (kind, name, json.dumps(body))
            )
            return done.rowcount == 1

    def put(self, kind: str, name: str, body: dict[str, Any]) -> None:
        """Keep a record, in place of the one of that name if there is one."""
        with self._open() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO things VALUES (?, ?, ?)", (kind, name, json.dumps(body))
            )

    def get(self, kind: str, name: str) -> dict[str, Any] | None:
        """Return a record, or None."""
        with self._open() as connection:
            row = connection.execute(
                "SELECT body FROM things WHERE kind = ? AND name = ?", (kind, name)
            ).fetchone()
        return json.loads(row[0]) if row else None

    def all(self, kind: str) -> dict[str, dict[str, Any]]:
        """Return the records of a kind by name, in the order of their names."""
        with self._open() as connection:
            rows = connection.execute(
                "SELECT name, body FROM things WHERE kind = ? ORDER BY name", (kind,)
            ).fetchall()
        return {name: json.loads(body) for name, body in rows}

    def remove(self, kind: str, name: str) -> None:
        """Forget a record; one that is not there is forgotten already."""
        with self._open() as connection:
            connection.execute("DELETE FROM things WHERE kind = ? AND name = ?", (kind, name))

    def kinds(self) -> dict[str, int]:
        """Return how many records there are of each kind."""
        with self._open() as connection:
            return dict(connection.execute("SELECT kind, COUNT(*) FROM things GROUP BY kind"))
