"""The command line: one file per command, imported when that command runs.

A module here whose name does not begin with an underscore, ``main`` apart, is a command.
It offers either ``command``, a function for typer that returns the exit code or None, or
``app``, a ``typer.Typer`` with commands of its own. What a command needs to do its work
is imported inside the function, so that help and completion stay fast.
"""
