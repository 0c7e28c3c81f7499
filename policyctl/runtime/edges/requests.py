"""An adapter for requests that sends the remaining budget and idempotency key on.

    session.mount("https://", BudgetAdapter(BudgetHeader(name="X-Timeout-Budget")))

The timeout of a request is shortened to what is left of the budget. Headers that a
request has already are left alone.
"""

from __future__ import annotations

from requests.adapters import HTTPAdapter

from policyctl.runtime.edges.outgoing import Outgoing
from policyctl.runtime.settings import BudgetHeader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from requests import PreparedRequest, Response

    from policyctl.runtime.policy import Policy


class BudgetAdapter(HTTPAdapter):
    """An ``HTTPAdapter``; further arguments are passed on to it.

    Requests raise ``BudgetExhaustedError`` where nothing is left to pass on.
    """

    def __init__(
        self,
        header: BudgetHeader | None = None,
        *,
        reserve: float = 0.0,
        **options: Any,
    ) -> None:
        self._outgoing = Outgoing(header, reserve)
        super().__init__(**options)

    @classmethod
    def of(cls, policy: Policy, **options: Any) -> BudgetAdapter:
        """With the header and reserve of an operation's ``budget`` block."""
        found = Outgoing.of(policy)
        return cls(found.header, reserve=found.reserve, **options)

    def send(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> Response:
        """Send a request with what is left."""
        request = request.copy()  # the given one may be redirected, or sent again
        request.headers.update(self._outgoing.headers(request.headers))
        if len(args) < 2:  # stream, timeout, … come as keywords from a session
            kwargs["timeout"] = self._shorten(kwargs.get("timeout"))
        return super().send(request, *args, **kwargs)

    def _shorten(self, timeout: Any) -> Any:
        shorten = self._outgoing.shorten
        if timeout is None or isinstance(timeout, (int, float)):
            return shorten(timeout)
        try:
            connect, read = timeout
        except TypeError:
            return timeout  # urllib3's own Timeout object: the caller knows best
        return shorten(connect), shorten(read)
