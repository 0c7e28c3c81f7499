"""Context variables of a call that was made elsewhere: in a thread, or in a task.

The call sees a copy of its caller's context. What it sets there is set for the caller when
it has ended, as if the call had been made in place.
"""

from __future__ import annotations

from policyctl.runtime.budget import DEADLINE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextvars import Context

_UNSET = object()


def adopt(context: Context) -> None:
    """Set here what was set in ``context``, but for the deadline, which was the call's."""
    for variable, value in context.items():
        if variable is not DEADLINE and variable.get(_UNSET) is not value:
            variable.set(value)
