"""TB009: a cooperative timeout that nobody looks at."""

from __future__ import annotations

from typing import ClassVar

from policyctl.diagnostics import Severity
from policyctl.lint import mend, show
from policyctl.lint.context import Context, Site
from policyctl.lint.rule import Outcomes, Rule


class TimeoutInterruptsNothing(Rule):
    """The attempt timeout is cooperative and is not passed to the client.

    What:
        `attempt_timeout.sync` is `cooperative`, no `argument` hands the limit to the
        client, and the transport is a remote one.

    Why:
        A cooperative timeout interrupts nothing: it sets the deadline, and a client that
        does not ask for it waits for as long as the callee hangs. The overrun is only
        noticed when the call has ended.

    Bad:
        version: 1
        service: mail_api
        owner: mail-team
        operations:
          send:
            transport: http
            idempotent: true
            attempt_timeout: {total: 2s, sync: cooperative}
            budget: 5s

    Good:
        version: 1
        service: mail_api
        owner: mail-team
        operations:
          send:
            transport: http
            idempotent: true
            attempt_timeout: {total: 2s, argument: timeout}
            budget: 5s

    Fix:
        Name the client's own timeout parameter as `argument`, or use `sync: thread`.

    False positives:
        Clients that read the remaining budget themselves, and async code, where the
        attempt is cancelled in any case: suppress the rule with that reason.

    References:
        policyctl runtime semantics, contract C21
    """

    code: ClassVar[str] = "TB009"
    name: ClassVar[str] = "timeout-interrupts-nothing"
    severity: ClassVar[Severity] = Severity.WARNING

    def check_operation(self, site: Site, context: Context) -> Outcomes:
        policy = site.policy
        timeout = policy.attempt_timeout
        if timeout is None or timeout.total is None or timeout.sync != "cooperative":
            return
        if timeout.argument is not None or policy.transport in (None, "local"):
            return
        yield self.finding(
            site.place,
            "attempt_timeout.sync",
            f"a sync call of {policy.id} that hangs is not ended after "
            f"{show.duration(timeout.total)}: cooperative interrupts nothing, and no "
            "argument passes the limit on",
            help="add argument: and the client's timeout parameter, or set sync: thread",
            fix=mend.set_value(
                site.place, "attempt_timeout.sync", "thread", safe=False
            ),
        )
