"""An adapter for requests that sends the remaining budget and idempotency key on.

    session.mount("https://", BudgetAdapter())

The timeout of a request is shortened to what is left of the budget, the one for
connecting to ``attempt_timeout.connect`` too. Headers that a request has already are
left alone.
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

    Without ``header`` each request carries that of the operation that it is sent for.
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
        """With the header, reserve and connect limit of one operation."""
        made = cls(**options)
        made._outgoing = Outgoing.of(policy)
        return made

    def send(
        self,
        request: PreparedRequest,
        stream: bool = False,
        timeout: Any = None,
        *args: Any,
        **kwargs: Any,
    ) -> Response:
        """Send a request with what is left."""
        prepared = request.copy()  # the given one may be redirected, or sent again
        prepared.headers.update(self._outgoing.headers(prepared.headers))
        timeout = self._shorten(timeout)
        response = super().send(prepared, stream, timeout, *args, **kwargs)
        # Who repeats the request, as digest authentication does, copies this one, and
        # shall not send the budget of now.
        response.request = request
        return response

    def _shorten(self, timeout: Any) -> Any:
        if timeout is None or isinstance(timeout, (int, float)):
            timeout = (timeout, timeout)
        try:
            connect, read = timeout
        except TypeError:
            return timeout  # urllib3's own Timeout object: the caller knows best
        outgoing = self._outgoing
        return outgoing.shorten_connect(connect), outgoing.shorten(read)
