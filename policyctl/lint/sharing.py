"""What advice says about state that all processes are to share."""

from __future__ import annotations

from policyctl.resolve.policy import Service


def redis_store(service: Service) -> str:
    """``store: redis``, with the address that it needs where the service has none."""
    if service.redis_url_env is not None:
        return "store: redis"
    return "store: redis with redis: {url_env: REDIS_URL} in the service"
