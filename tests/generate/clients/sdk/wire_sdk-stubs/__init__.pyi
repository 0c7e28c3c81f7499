import sys
from typing import overload

class Wire:
    if sys.version_info >= (3, 99):
        def send(self, data: str) -> str: ...
    else:
        @overload
        def send(self, data: bytes, retries: int = ...) -> int: ...
        @overload
        def send(self, data: str, retries: int = ...) -> float: ...
