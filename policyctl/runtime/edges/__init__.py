"""Where calls come in and go out over HTTP; each module is optional and imported on use.

``asgi`` and ``wsgi`` protect a server (use them through ``Inbound``); ``httpx``,
``requests`` and ``aiohttp`` send the remaining budget and the idempotency key on.
"""
