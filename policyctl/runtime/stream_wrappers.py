"""Wrappers of generator functions, which are generator functions themselves."""

from __future__ import annotations

from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.signatures import (
    CO_ASYNC_GENERATOR,
    CO_GENERATOR,
    flags_of,
    shape_of,
)
from policyctl.runtime.streams import END, AsyncStream, run_generator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from policyctl.runtime.policy import Policy
    from policyctl.runtime.signatures import Shape

_SYNC = """\
def make(_pc_policy, _pc_fn, _pc_run):
  def guarded({parameters}):
    return (yield from _pc_run(_pc_policy, _pc_fn, {positional}, {keywords}))
  return guarded
"""

_ASYNC = """\
def make(_pc_policy, _pc_fn, _pc_open, _pc_end, _pc_Exit, _pc_Any):
  async def guarded({parameters}):
    _pc_stream = _pc_open(_pc_policy, _pc_fn, {positional}, {keywords})
    try:
      _pc_item = await _pc_stream.start()
      while _pc_item is not _pc_end:
        _pc_thrown = _pc_sent = None
        try:
          _pc_sent = yield _pc_item
        except _pc_Exit:
          raise
        except _pc_Any as _pc_error:
          _pc_thrown = _pc_error
        _pc_item = await _pc_stream.step(_pc_sent, _pc_thrown)
    finally:
      _pc_thrown = None
      try:
        await _pc_stream.close()
      finally:
        _pc_stream.end()
  return guarded
"""


def wrap_generator(policy: Policy, fn: Callable[..., Any]) -> Any:
    """The guarded form of a generator function, not yet dressed as it.

    Raises:
        PolicyConfigError: ``fn`` is no generator function, or a plain one under a
            policy with time limits.
    """
    flags = flags_of(fn)
    if flags & CO_ASYNC_GENERATOR:
        make = _compile(_ASYNC, shape_of(fn))
        return make(policy, fn, AsyncStream, END, GeneratorExit, BaseException)
    if not flags & CO_GENERATOR:
        raise _wrong(
            policy,
            f"{getattr(fn, '__name__', fn)!r} is no generator function",
            "a policy with kind: stream guards generators and async generators",
        )
    if "attempt_timeout" in policy.settings:
        raise _wrong(
            policy,
            f"{getattr(fn, '__name__', fn)!r} is a plain generator, which cannot be "
            "interrupted",
            "use an async generator, or remove attempt_timeout",
        )
    return _compile(_SYNC, shape_of(fn))(policy, fn, run_generator)


def _compile(template: str, shape: Shape) -> Any:
    text = template.format(
        parameters=shape.parameters,
        positional=shape.positional,
        keywords=shape.keywords,
    )
    namespace: dict[str, Any] = {"__name__": "policyctl.runtime.guarded"}
    exec(compile(text, "<policyctl guard>", "exec"), namespace)
    return namespace["make"]


def _wrong(policy: Policy, message: str, help: str) -> PolicyConfigError:
    service, operation = policy.service, policy.operation
    return PolicyConfigError(message, help=help, service=service, operation=operation)
