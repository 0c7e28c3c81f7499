"""State that processes share over Redis or Valkey: circuit breakers and rate limits (C11).

Every process keeps its own full state and goes on with it alone while the store is
away. One background thread for each store talks to it; no guarded call waits for it
except for a probe permit, for a token of a shared rate limit, and once at first use.
"""
