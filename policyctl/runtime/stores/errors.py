"""What goes wrong with a store, whatever pattern keeps things in it."""

from __future__ import annotations

from policyctl.runtime.errors import PolicyError


class StoreUnavailableError(PolicyError):
    """The store cannot be reached or used now; what was asked for was not done.

    Attributes:
        store: the file or address, without user and password.
        message: what the store said.
    """

    def __init__(
        self,
        service: str = "",
        operation: str = "",
        store: str = "",
        message: str = "",
    ) -> None:
        self.service = service
        self.operation = operation
        self.store = store
        self.message = message

    def _reason(self) -> str:
        return f"store {self.store} is not available: {self.message}"


class StoreFullError(Exception):
    """There is no space left for what was to be written; nothing of it was."""


class StoreDamagedError(Exception):
    """The file is not a database any more, or not a whole one."""
