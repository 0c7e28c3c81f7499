"""Key names of other systems, and what the same thing is called here.

Names are folded: lower case, letters and digits alone, so that ``maxRetries``,
``max_retries`` and ``max-retries`` are one. Under a name, the hint for the block that
it was found in comes first, then the one under ``""``, for anywhere. The names are those of
resilience4j, Polly, Istio, Envoy, the gRPC service config, Dapr, Hystrix, tenacity,
stamina, pybreaker and backoff.
"""

from __future__ import annotations

_TIMES = "say attempt_timeout (one attempt) or budget (the whole call)"
_ATTEMPTS = "say retry.max_attempts, which counts the first attempt too: retries + 1"
_ATTEMPTS_SAME = "say retry.max_attempts, which counts the first attempt too"
_RATIO = "say circuit_breaker.failure_ratio, for example 50%"
_OPEN = "say circuit_breaker.recovery_timeout"
_PROBES = "say circuit_breaker.half_open_max_calls (probes at once) and success_threshold (good probes that close it)"
_MIN = "say circuit_breaker.minimum_calls"
_WINDOW = "say circuit_breaker.window, for example 30s or 100 calls"
_THRESHOLD = "say circuit_breaker.failure_threshold, for consecutive failures"
_SLOW = "say circuit_breaker.slow_call: {after: 2s, ratio: 80%}"
_CONCURRENT = "say bulkhead.max_concurrent"
_QUEUE = "say bulkhead.max_queue"
_SLOT = "say bulkhead.max_wait"
_INITIAL = "say retry.backoff.initial"
_MULTIPLIER = "say retry.backoff.multiplier"
_LONGEST = "say retry.backoff.max"
_JITTER = "say retry.backoff.jitter: none, full, equal, decorrelated or a ratio"
_ON = "say retry_on (exceptions and conditions) or retry_on_status (statuses)"
_NEVER = "say retry.never_retry_on, or circuit_breaker.ignore_on"
_RATE = "say rate_limit.rate, for example 100/s"
_EJECTION = "there is no ejection of single hosts here; circuit_breaker guards an operation as a whole"

FOREIGN: dict[str, dict[str, str]] = {
    "timeout": {
        "circuit_breaker": _OPEN,
        "bulkhead": _SLOT,
        "rate_limit": "say max_wait",
        "attempt_timeout": "say total",
        "budget": "say total",
        "": _TIMES,
    },
    "timeouts": {"": _TIMES},
    "timelimiter": {"": "say attempt_timeout"},
    "timeoutduration": {"rate_limit": "say max_wait", "": "say attempt_timeout"},
    "pertrytimeout": {"": "say attempt_timeout, beside retry"},
    "perattempttimeout": {"": "say attempt_timeout, beside retry"},
    "pertryidletimeout": {"": "say attempt_timeout.idle"},
    "attempttimeout": {"": "say attempt_timeout"},
    "requesttimeout": {"": _TIMES},
    "readtimeout": {
        "": "say attempt_timeout.total, or attempt_timeout.idle for streams"
    },
    "calltimeout": {"": _TIMES},
    "totaltimeout": {"": "say budget"},
    "totalrequesttimeout": {"": "say budget"},
    "connecttimeout": {"": "say attempt_timeout.connect"},
    "connectiontimeout": {"": "say attempt_timeout.connect"},
    "idletimeout": {"": "say attempt_timeout.idle"},
    "deadline": {"": "say budget"},
    "deadlines": {"": "say budget"},
    "timebudget": {"": "say budget"},
    "stopafterdelay": {"": "say budget"},
    "stopafterattempt": {"": _ATTEMPTS_SAME},
    "retries": {"": _ATTEMPTS},
    "retrypolicy": {"": "say retry"},
    "numretries": {"": _ATTEMPTS},
    "maxretries": {"": _ATTEMPTS},
    "maxretryattempts": {"": _ATTEMPTS},
    "retrycount": {"": _ATTEMPTS},
    "retrylimit": {"": _ATTEMPTS},
    "attempts": {"": _ATTEMPTS_SAME},
    "tries": {"": _ATTEMPTS_SAME},
    "maxtries": {"": _ATTEMPTS_SAME},
    "maxattempts": {"": _ATTEMPTS_SAME},
    "waitduration": {"circuit_breaker": _OPEN, "": _INITIAL},
    "waitinitial": {"": _INITIAL},
    "waitmax": {"": _LONGEST},
    "waitjitter": {"": _JITTER},
    "waitexpbase": {"": _MULTIPLIER},
    "initialbackoff": {"": _INITIAL},
    "initialinterval": {"": _INITIAL},
    "initialdelay": {"": _INITIAL},
    "baseinterval": {"": _INITIAL},
    "base": {"backoff": "say initial", "redelivery": "say initial"},
    "delay": {
        "retry": _INITIAL,
        "backoff": "say initial",
        "redelivery": "say initial",
        "circuit_breaker": _OPEN,
    },
    "interval": {
        "retry": _INITIAL,
        "backoff": "say initial",
        "redelivery": "say initial",
        "circuit_breaker": _WINDOW,
    },
    "duration": {
        "retry": _INITIAL,
        "backoff": "say initial",
        "circuit_breaker": _OPEN,
        "attempt_timeout": "say total",
    },
    "backoff": {"": _INITIAL + ", multiplier, max and jitter"},
    "backoffmultiplier": {"": _MULTIPLIER},
    "exponentialbackoffmultiplier": {
        "circuit_breaker": "say circuit_breaker.recovery_timeout.multiplier",
        "": _MULTIPLIER,
    },
    "factor": {
        "backoff": "say multiplier",
        "redelivery": "say multiplier",
        "recovery_timeout": "say multiplier",
    },
    "exponent": {"backoff": "say multiplier", "redelivery": "say multiplier"},
    "maxbackoff": {"": _LONGEST},
    "maxinterval": {"": _LONGEST},
    "maxdelay": {"": _LONGEST},
    "cap": {"backoff": "say max", "redelivery": "say max"},
    "maxdoublings": {"": _LONGEST},
    "exponentialmaxwaitduration": {"": _LONGEST},
    "enableexponentialbackoff": {
        "": "say retry.backoff.multiplier: 2 for exponential, 1 for constant delays"
    },
    "enablerandomizedwait": {"": _JITTER},
    "randomizedwaitfactor": {"": "say retry.backoff.jitter, a ratio such as 50%"},
    "usejitter": {"": _JITTER},
    "backofftype": {
        "": "say retry.backoff.multiplier: 2 for exponential, 1 for constant delays"
    },
    "on": {"fallback": "say fallback_on", "": _ON},
    "retryexceptions": {"": "say retry.retry_on"},
    "ignoreexceptions": {
        "retry": "say never_retry_on",
        "circuit_breaker": "say ignore_on",
        "": _NEVER,
    },
    "recordexceptions": {"": "say circuit_breaker.record_on"},
    "exclude": {"circuit_breaker": "say ignore_on", "retry": "say never_retry_on"},
    "exceptions": {"circuit_breaker": "say record_on", "": "say retry.retry_on"},
    "retryableexceptions": {"": "say retry.retry_on"},
    "retryablestatuscodes": {"": "say retry.retry_on_status"},
    "retriablestatuscodes": {"": "say retry.retry_on_status"},
    "httpstatuscodes": {"": "say retry.retry_on_status"},
    "grpcstatuscodes": {"": "say retry.retry_on_status"},
    "statuscodes": {
        "circuit_breaker": "say record_on_status",
        "": "say retry.retry_on_status",
    },
    "retryonresult": {"": "say retry.retry_if_result"},
    "retryifexception": {"": "say retry.retry_if"},
    "retryonexception": {"": "say retry.retry_if"},
    "shouldretryafterheader": {"": "say retry.retry_after"},
    "retrythrottling": {"": "say retry.budget"},
    "retrybudget": {"": "say retry.budget"},
    "budgetpercent": {"": "say retry.budget.ratio"},
    "minretryconcurrency": {"": "say retry.budget.floor"},
    "tokenratio": {"": "say retry.budget.ratio"},
    "maxtokens": {"rate_limit": "say burst", "": "say retry.budget.burst"},
    "breaker": {"": "say circuit_breaker"},
    "breakers": {"": "say circuit_breaker"},
    "circuit": {"": "say circuit_breaker"},
    "circuitbreakers": {"": "say circuit_breaker"},
    "failmax": {"": _THRESHOLD},
    "failures": {"circuit_breaker": "say failure_threshold"},
    "maxfailures": {"": _THRESHOLD},
    "consecutivefailures": {"": _THRESHOLD},
    "consecutiveerrors": {"": _THRESHOLD},
    "failurerate": {"": _RATIO},
    "failureratethreshold": {"": _RATIO},
    "errorthresholdpercentage": {"": _RATIO},
    "failureratiothreshold": {"": _RATIO},
    "errorrate": {"": _RATIO},
    "resettimeout": {"": _OPEN},
    "breakduration": {"": _OPEN},
    "openfor": {"": _OPEN},
    "opentimeout": {"": _OPEN},
    "openduration": {"": _OPEN},
    "sleepwindow": {"": _OPEN},
    "waitdurationinopenstate": {"": _OPEN},
    "permittednumberofcallsinhalfopenstate": {"": _PROBES},
    "maxrequests": {"bulkhead": _CONCURRENT, "": _PROBES},
    "halfopenmax": {"": _PROBES},
    "halfopenrequests": {"": _PROBES},
    "closeafter": {"": "say circuit_breaker.success_threshold"},
    "maxwaitdurationinhalfopenstate": {"": "say circuit_breaker.half_open_max_wait"},
    "minimumnumberofcalls": {"": _MIN},
    "minimumthroughput": {"": _MIN},
    "mincalls": {"": _MIN},
    "requestvolumethreshold": {"": _MIN},
    "slidingwindowsize": {"": _WINDOW},
    "slidingwindowtype": {"": _WINDOW},
    "slidingwindow": {"": _WINDOW},
    "samplingduration": {"": _WINDOW},
    "rollingwindow": {"": _WINDOW},
    "slowcalldurationthreshold": {"": _SLOW},
    "slowcallratethreshold": {"": _SLOW},
    "trip": {"": "say circuit_breaker.failure_threshold or failure_ratio"},
    "outlierdetection": {"": _EJECTION},
    "consecutive5xxerrors": {"": _EJECTION},
    "consecutive5xx": {"": _EJECTION},
    "baseejectiontime": {"": _EJECTION},
    "maxejectionpercent": {"": _EJECTION},
    "bulkheads": {"": "say bulkhead"},
    "threadpoolbulkhead": {"": "say bulkhead"},
    "concurrency": {"": _CONCURRENT},
    "maxconcurrency": {"": _CONCURRENT},
    "maxconcurrentcalls": {"": _CONCURRENT},
    "maxconcurrentrequests": {"": _CONCURRENT},
    "maxparallelization": {"": _CONCURRENT},
    "permitlimit": {"": _CONCURRENT},
    "maxthreadpoolsize": {"": _CONCURRENT},
    "http2maxrequests": {"": _CONCURRENT},
    "maxconnections": {
        "": "say facts.pool.max for a connection pool, or bulkhead.max_concurrent"
    },
    "maxqueuingactions": {"": _QUEUE},
    "queuelimit": {"": _QUEUE},
    "queuecapacity": {"": _QUEUE},
    "maxpendingrequests": {"": _QUEUE},
    "http1maxpendingrequests": {"": _QUEUE},
    "maxwaitduration": {"": _SLOT},
    "queuetimeout": {"": _SLOT},
    "acquiretimeout": {"": _SLOT},
    "ratelimiter": {"": "say rate_limit"},
    "limitforperiod": {"": _RATE},
    "limitrefreshperiod": {"": _RATE},
    "requestspersecond": {"": _RATE},
    "rps": {"facts": "say rate, for example 40/s", "": _RATE},
    "qps": {"facts": "say rate, for example 40/s", "": _RATE},
    "hedging": {"": "say hedge"},
    "hedgingpolicy": {"": "say hedge"},
    "hedgingdelay": {"": "say hedge.delay"},
    "maxhedgedattempts": {
        "": "say hedge.max_hedges, further attempts beside the first"
    },
    "fallbackmethod": {"": "say fallback: {call: package.module:function}"},
    "default": {"fallback": "say value", "": "say defaults"},
    "idempotencykey": {"": "say idempotency.key"},
    "deduplication": {"": "say idempotency"},
    "dlq": {"": "say dead_letter"},
    "deadletterqueue": {"": "say dead_letter"},
    "maxlength": {"queue": "say max_size"},
    "maxitems": {"queue": "say max_size"},
    "capacity": {"queue": "say max_size"},
    "size": {"queue": "say max_size"},
    "backend": {"": "say store"},
    "visibility": {"queue": "say lease"},
    "visibilitytimeout": {"queue": "say lease"},
    "maxreceivecount": {"queue": "say max_deliveries"},
    "batchsize": {"": "say batch"},
    "warnthreshold": {"queue": "say warn_at"},
    "name": {"top": "say service, the name of the service"},
    "services": {
        "": "write one service per document: service: NAME, and documents separated by ---"
    },
    "policies": {"": "say operations"},
    "endpoints": {"": "say operations"},
    "methods": {"": "say operations"},
    "team": {"": "say owner"},
    "include": {"": "say extends, for presets"},
    "imports": {"": "say extends, for presets"},
    "apiversion": {"": "say version"},
    "overrides": {"": "say environments, or override for one entry of calls"},
}


def fold_key(name: str) -> str:
    """A key in lower case, letters and digits alone."""
    return "".join(c for c in name.lower() if c.isalnum())


def foreign(name: str, block: str, *, exact: bool = False) -> str | None:
    """The hint for a name of another system found in ``block``, or None.

    ``block`` is the key of the block, ``operation``, ``queue``, ``environment`` or
    ``top``. With ``exact`` only a hint for that very block counts: the name is a key of
    ours elsewhere.
    """
    hints = FOREIGN.get(fold_key(name))
    if hints is None:
        return None
    return hints.get(block) if exact else hints.get(block, hints.get(""))
