"""Typed clients: classes whose methods are those of a target, guarded by policies."""
