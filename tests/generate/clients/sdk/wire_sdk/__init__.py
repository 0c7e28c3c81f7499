"""Source without types; ``wire_sdk-stubs`` has them."""


class Wire:
    """Sends things."""

    def send(self, data, retries=2):  # type: ignore[no-untyped-def]
        """Send data."""
        return len(data)
