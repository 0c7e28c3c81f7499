"""Checks of merged settings that no single key can fail on its own."""
