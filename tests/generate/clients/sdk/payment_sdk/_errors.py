"""Errors."""

__all__ = ["DeclinedError"]


class DeclinedError(Exception):
    """The card was declined."""
