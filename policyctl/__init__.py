"""policyctl: resilience policies declared in YAML, checked together, generated as code.

This module imports nothing: generated code and the command line both pass through it.
"""
