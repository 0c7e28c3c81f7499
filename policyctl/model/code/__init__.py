"""Signatures of installed code, read from source and stubs; nothing is imported."""
