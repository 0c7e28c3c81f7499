"""What to do about a store that ``policyctl queue`` cannot use, cause by cause."""

from __future__ import annotations

import sqlite3
from typing import Final

OTHERWISE: Final = (
    "name the file of an sqlite queue, or the address of a server such as "
    "redis://127.0.0.1:6379/0"
)
_OF_FILES: Final = {
    sqlite3.SQLITE_NOTADB: (
        "it is another kind of file: give the path of the queue, as in its policy"
    ),
    sqlite3.SQLITE_CORRUPT: (
        "the file is damaged: the service that uses it moves it aside and brings over "
        "what can be read when it next starts"
    ),
    sqlite3.SQLITE_BUSY: (
        "another process keeps the file locked: try again, or end that process"
    ),
    sqlite3.SQLITE_READONLY: (
        "the file or its folder cannot be written: run it as the user of the service, or "
        "copy the file and its -wal to a folder of yours"
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "the file cannot be read by this user, or the folder lacks the -shm that belongs "
        "to its -wal: run it as the user of the service, or copy the file and its -wal to "
        "a folder of yours"
    ),
    sqlite3.SQLITE_PERM: "run it as the user of the service",
    sqlite3.SQLITE_FULL: "the disk is full: make room, then try again",
}
# In this order: what a server says first, since a class of errors may say several things.
_BY_WORDS: Final = (
    (
        ("is not a file of queues",),
        "it is a database of something else: give the path of the queue, as in its policy",
    ),
    (
        (
            "NOAUTH",
            "Authentication required",
            "HELLO must",
            "WRONGPASS",
            "invalid username-password",
        ),
        "put user and password into the address: redis://user:password@host:6379/0",
    ),
    (
        ("without any password configured",),
        "the server has no password: leave it out of the address",
    ),
    (
        ("NOPERM", "no permissions", "has no permissions"),
        (
            "the user lacks rights: it needs scripts (EVALSHA, EVAL), SCAN, TYPE, and the "
            "keys {key}:*"
        ),
    ),
    (
        ("WRONGTYPE", "wrong kind of value"),
        (
            "a key of the queue holds something of another program: give the queue another "
            "key in its policy, or delete the foreign key"
        ),
    ),
    (
        ("is not one like redis://",),
        (
            "write redis://user:password@host:6379/0, rediss://… for TLS, unix:///path of a "
            "socket, or redis+sentinel://host:26379/name"
        ),
    ),
    (
        ("refused",),
        "nothing listens there: check host and port, and whether the server runs",
    ),
    (
        ("not known", "name resolution", "getaddrinfo", "nodename", "No address"),
        "the name of the host is unknown here: check it, or give its number",
    ),
    (
        ("SSL", "certificate", "WRONG_VERSION_NUMBER"),
        "use rediss:// where the server speaks TLS, redis:// where it does not",
    ),
    (
        ("LOADING",),
        "the server is reading its data: try again in a while",
    ),
    (
        ("MASTERDOWN", "CLUSTERDOWN", "No master found"),
        "there is no primary at the moment: try again after the failover",
    ),
    (
        ("DB index is out of range",),
        "give the number of a database that the server has, as in …:6379/0",
    ),
    (
        ("Timeout", "timed out", "closed by server", "reset by peer"),
        (
            "the server does not answer: check the port, whether it speaks TLS (rediss://), "
            "and its load"
        ),
    ),
    (
        ("neither redis nor valkey is installed",),
        'install a client: pip install "policyctl[redis]"',
    ),
    (
        ("No such file or directory",),
        "there is no such socket: check the path, and whether the server runs",
    ),
    (
        ("Permission denied",),
        "this user may not use it: run it as the user of the service",
    ),
)


def remedy(error: Exception, message: str) -> str:
    """The help line of an error, by what caused it and by what the store said."""
    cause: BaseException | None = error
    while cause is not None:
        code = getattr(cause, "sqlite_errorcode", None)
        if code is not None and code & 0xFF in _OF_FILES:
            return _OF_FILES[code & 0xFF]
        cause = cause.__cause__
    for words, help in _BY_WORDS:
        if any(word in message for word in words):
            return help
    return OTHERWISE
