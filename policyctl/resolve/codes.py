"""The codes of this step's findings: VA101 to VA199."""

from __future__ import annotations

from typing import Final

CODES: Final[dict[str, tuple[str, str]]] = {
    "VA101": ("duplicate-service", "two documents declare one service"),
    "VA102": ("name-clash", "two things would generate one name"),
    "VA103": ("unknown-preset", "extends names a preset that does not exist"),
    "VA104": ("extends-cycle", "presets extend each other in a circle"),
    "VA105": ("duplicate-preset", "two documents declare one preset"),
    "VA106": (
        "unknown-operation",
        "a reference names an operation that does not exist",
    ),
    "VA107": ("unreadable-reference", "a reference leads into a file with errors"),
    "VA108": (
        "unknown-overlay",
        "an environment changes what the document does not have",
    ),
    "VA109": ("unknown-environment", "no document has the requested environment"),
    "VA110": ("initial-over-max", "a back-off starts above its maximum"),
    "VA111": ("minimum-calls-over-window", "the window never holds minimum_calls"),
    "VA112": ("hedge-with-retry", "one operation both hedges and retries"),
    "VA113": ("hedge-not-idempotent", "a hedged operation must be idempotent"),
    "VA114": ("budget-part-over-total", "a part of a budget is over the whole"),
    "VA115": (
        "timeout-part-over-total",
        "a part of an attempt timeout is over its total",
    ),
    "VA116": ("stream-pattern", "streams have no hedge and no idempotency"),
    "VA117": ("stream-timeout-on-unary", "first_item and idle belong to streams"),
    "VA118": ("unknown-argument", "the target has no such parameter"),
    "VA119": ("retry-conditions-missing", "nothing says what to retry"),
    "VA120": ("unlimited-attempts", "unlimited attempts outside a control loop"),
    "VA121": ("scope-blocks-differ", "operations share one instance but differ"),
    "VA122": ("override-name-clash", "two limits have one environment variable"),
    "VA123": ("store-without-url", "a redis store has no address"),
    "VA124": ("store-without-path", "an sqlite store has no file"),
    "VA125": ("no-trip-rule", "a circuit breaker has no rule that opens it"),
    "VA126": ("fallback-cycle", "fallbacks lead back to their own operation"),
    "VA127": ("required-key-missing", "a block lacks a key that has no default"),
    "VA128": ("duplicate-call", "one list calls an operation twice"),
    "VA129": ("hedge-on-sync", "only async functions can be hedged"),
    "VA130": (
        "overflow-without-dead-letters",
        "overflow goes to dead letters that are off",
    ),
    "VA131": ("two-workers", "a queue has both consume and upload"),
    "VA132": ("overlay-defaults-off", "an environment switches off all defaults"),
    "VA133": (
        "key-of-another-store",
        "a key belongs to a store that is not the chosen one",
    ),
    "VA134": ("extends-too-long", "presets extend too many others"),
    "VA135": (
        "kind-mismatch",
        "a stream stands where one answer is wanted, or the reverse",
    ),
    "VA136": ("unknown-method", "the target's class has no such method"),
    "VA137": (
        "file-of-two-kinds",
        "a queue and idempotency records are in one file",
    ),
    "VA138": ("facts-disagree", "no measurement can have two of the stated facts"),
    "VA139": (
        "queue-of-two-settings",
        "two queues are one in their store, but differ in what it decides",
    ),
}
