"""A PostgreSQL server of our own: on a Unix socket in a folder of its own, and gone with it.

`python -m tests.support.postgres` says whether there is one to start.
TAPVEIL_POSTGRES=required makes its absence a failure.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

USER, PASSWORD, DATABASE = "canary_user", "canary-password-5309", "canary_database"
"""Of a role that may do what a holder's role should: look for these where they must not be."""
_OWNER = "owner"


def binaries() -> Path | None:
    """Where the server is: on the path, or where Debian puts the newest."""
    found = shutil.which("pg_ctl")
    if found and shutil.which("initdb"):
        return Path(found).resolve().parent
    folders = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/pg_ctl")]
    return max(folders, key=lambda path: int(re.sub(r"\D", "", path.parent.name) or 0), default=None)


@dataclass(frozen=True)
class Server:
    """A running server."""

    binaries: Path
    folder: Path

    def environment(self, user: str = USER, **more: str) -> dict[str, str]:
        """What libpq reads, to connect as this user."""
        return {"PGHOST": str(self.folder), "PGUSER": user, "PGDATABASE": DATABASE, "PGPASSWORD": PASSWORD, **more}

    def uri(self) -> str:
        """Of its owner."""
        return f"postgresql://{_OWNER}:{PASSWORD}@/{DATABASE}?host={self.folder}"

    def run(self, *statements: str) -> list[dict[str, Any]]:
        """Some statements of the owner's, each by itself; what the last one says."""
        from adbc_driver_postgresql.dbapi import connect  # type: ignore[import-untyped]

        with connect(self.uri(), autocommit=True) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return cursor.fetch_arrow_table().to_pylist() if cursor.description else []

    def load(self, name: str, table: pa.Table) -> None:
        """A table in the schema `transit`, for the user to read."""
        from adbc_driver_postgresql.dbapi import connect

        with connect(self.uri(), autocommit=True) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest(name, table, mode="replace", db_schema_name="transit")
        decimals = [field for field in table.schema if pa.types.is_decimal(field.type)]
        places = (f'"{each.name}" TYPE numeric({each.type.precision}, {each.type.scale})' for each in decimals)
        self.run(
            *(f"ALTER TABLE transit.{name} ALTER COLUMN {each}" for each in places),
            f"GRANT SELECT ON transit.{name} TO {USER}",
        )

    def control(self, *arguments: str) -> None:
        _as_somebody(self.folder, self.binaries / "pg_ctl", "-w", "-D", self.folder / "data", *arguments)

    def start(self) -> None:
        settings = f"-c listen_addresses= -c unix_socket_directories={self.folder} -c fsync=off -c max_connections=20"
        self.control("-l", str(self.folder / "log"), "-o", settings, "start")

    def stop(self, mode: str = "immediate") -> None:
        self.control("-m", mode, "stop")


def _as_somebody(folder: Path, *command: object) -> None:
    """PostgreSQL refuses to run as root: then as whoever its package has made, or as nobody."""
    known = {each.pw_name: each for each in pwd.getpwall()}
    somebody = known.get("postgres") or known["nobody"]
    other: Mapping[str, Any] = {}
    if os.geteuid() == 0:
        other = {"user": somebody.pw_uid, "group": somebody.pw_gid, "extra_groups": []}
        os.chown(folder, somebody.pw_uid, somebody.pw_gid)
    subprocess.run([str(each) for each in command], cwd=folder, check=True, capture_output=True, timeout=300, **other)


@contextmanager
def running() -> Iterator[Server]:
    """A server with a database of trips, for as long as this lasts."""
    found = binaries()
    if found is None:
        if os.environ.get("TAPVEIL_POSTGRES") == "required":
            pytest.fail("no PostgreSQL server (make postgres)")
        pytest.skip("no PostgreSQL server (make postgres)")
    with tempfile.TemporaryDirectory(prefix="canary-host-", ignore_cleanup_errors=True) as name:
        server = Server(found, Path(name))
        (server.folder / "password").write_text(PASSWORD, encoding="utf-8")
        (server.folder / "password").chmod(0o644)
        options = ["-U", _OWNER, "-A", "scram-sha-256", "--pwfile", "password", "-E", "UTF8", "--locale=C", "--no-sync"]
        _as_somebody(server.folder, found / "initdb", "-D", server.folder / "data", *options)
        server.start()
        try:
            _prepare(server)
            yield server
        finally:
            server.stop()


def _prepare(server: Server) -> None:
    from adbc_driver_postgresql.dbapi import connect

    with connect(server.uri().replace(f"/{DATABASE}", "/postgres"), autocommit=True) as first, first.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {DATABASE}")
    server.run(
        f"CREATE ROLE {USER} LOGIN PASSWORD '{PASSWORD}'",
        f"REVOKE ALL ON DATABASE {DATABASE} FROM PUBLIC",
        f"GRANT CONNECT, TEMP ON DATABASE {DATABASE} TO {USER}",
        "REVOKE ALL ON SCHEMA public FROM PUBLIC",
        "CREATE SCHEMA transit",
        f"GRANT USAGE ON SCHEMA transit TO {USER}",
    )


if __name__ == "__main__":
    if binaries() is None:
        sys.exit("no PostgreSQL server")
    with running() as started:
        print(started.run("SELECT version() AS version")[0]["version"].partition(" (")[0])
