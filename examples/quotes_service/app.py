"""A FastAPI service whose calls to a rate provider survive the provider's failures.

uvicorn examples.quotes_service.app:app
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

import httpx
from fastapi import Depends, FastAPI, HTTPException, Request

from examples.quotes_service.resilience import quotes_api
from policyctl.runtime.budget import budget
from policyctl.runtime.errors import PolicyError


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Keep one client for the life of the service."""
    url = os.environ.get("RATES_URL", "http://127.0.0.1:9000")
    async with httpx.AsyncClient(base_url=url) as client:
        app.state.rates = client
        yield


app = FastAPI(lifespan=lifespan)


def rates(request: Request) -> httpx.AsyncClient:
    """The client of this process."""
    client: httpx.AsyncClient = request.app.state.rates
    return client


@quotes_api.latest
async def latest(client: httpx.AsyncClient, pair: str) -> float | None:
    """The latest rate, or None while the provider is away (the policy's fallback)."""
    answer = await client.get(f"/rates/{pair}")
    answer.raise_for_status()
    rate: float = answer.json()["rate"]
    return rate


@app.get("/quotes/{pair}")
async def quote(
    pair: str, client: Annotated[httpx.AsyncClient, Depends(rates)]
) -> dict[str, float | str | None]:
    """A quote within one second, whatever the provider does."""
    try:
        with budget(1.0):
            return {"pair": pair, "rate": await latest(client, pair)}
    except PolicyError as error:
        raise HTTPException(504, str(error)) from error
    except httpx.HTTPStatusError as error:
        raise HTTPException(502, "the rate provider failed") from error
    except httpx.TransportError as error:
        raise HTTPException(502, "the rate provider is out of reach") from error


@app.get("/health")
async def health() -> dict[str, str]:
    """Whether the provider is being called."""
    return {"rates": quotes_api.latest.circuit_breaker.state}
