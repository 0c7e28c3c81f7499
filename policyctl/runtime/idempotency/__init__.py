"""One effect for each key: results are stored and given again (C29).

``Guard`` is what the engine calls, once around all attempts. Stores (``memory`` here)
keep records; codecs turn values into bytes and back, never by pickle.
"""

from policyctl.runtime.idempotency.forwarding import (
    forwarded_headers,
    forwarded_key,
)
from policyctl.runtime.idempotency.guard import Guard, Ticket

__all__ = ["Guard", "Ticket", "forwarded_headers", "forwarded_key"]
