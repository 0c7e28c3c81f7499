"""Resolved policies in, a typed Python package out: build, compare, write."""
