"""Databases that nobody closes leave no open connection behind, and no warning."""

from __future__ import annotations

import gc
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from policyctl.runtime.idempotency.sqlite import SqliteStore
from policyctl.runtime.stores.forkgate import GATE
from policyctl.runtime.stores.sqlite import Database, _leaked

SCHEMA = "CREATE TABLE IF NOT EXISTS t (a)"

PROGRAM = """
import asyncio, gc, sys
from policyctl.runtime import settings
from policyctl.runtime.policy import Policy

def use(path):
    policy = Policy(idempotency=settings.Idempotency(key_call=str, store="sqlite", path=path))

    @policy
    def pay(order):
        return order

    assert [pay("17"), pay("17"), pay("18")] == ["17", "17", "18"]
    return policy

use(sys.argv[1])           # dropped at once
gc.collect()
kept = use(sys.argv[2])    # alive until the interpreter ends
print("fine")
"""


def opened(path: Path) -> tuple[Database, sqlite3.Connection]:
    """A database and the connection that it keeps."""
    database = Database(str(path), SCHEMA)
    database.write(lambda connection: connection.execute("INSERT INTO t VALUES (1)"))
    return database, database._idle[0][0]


def test_a_dropped_database_closes_its_connections(tmp_path: Path) -> None:
    """As soon as it is collected, whoever holds the connection."""
    database, connection = opened(tmp_path / "a.db")
    connection.execute("SELECT 1")
    del database
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


def test_a_closed_database_opens_again_and_is_closed_again(tmp_path: Path) -> None:
    """``close`` is not the end of it; what was opened after it is closed as well."""
    database, first = opened(tmp_path / "a.db")
    database.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        first.execute("SELECT 1")
    database.write(lambda connection: connection.execute("INSERT INTO t VALUES (2)"))
    second = database._idle[0][0]
    del database
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        second.execute("SELECT 1")


def test_a_fork_that_is_about_to_happen_is_not_waited_for(tmp_path: Path) -> None:
    """Collected in the thread that forks, the connection stays open instead."""
    database, connection = opened(tmp_path / "a.db")
    GATE.before()
    try:
        del database
        gc.collect()
        connection.execute("SELECT 1")
    finally:
        GATE.after_in_parent()
        _leaked.clear()
    connection.close()


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_closes_nothing_of_its_parent(tmp_path: Path) -> None:
    """Closing there would end locks that the parent relies on."""
    store = SqliteStore(str(tmp_path / "a.db"), 1000)
    assert store.claim("a", "f", "owner", 60.0) is None
    connection = store._database._idle[0][0]
    child = os.fork()
    if child == 0:
        code = 1
        try:
            del store
            gc.collect()
            connection.execute("SELECT 1")
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert store.claim("a", "f", "other", 60.0) is not None


def test_nothing_warns_of_unclosed_databases(tmp_path: Path) -> None:
    """Under -W error and with the warnings of development, Python 3.13 included."""
    paths = [str(tmp_path / name) for name in ("a.db", "b.db")]
    run = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", PROGRAM, *paths],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "fine\n", "")
