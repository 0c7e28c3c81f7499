"""The key of a call, from its arguments, and a fingerprint of all of them."""

from __future__ import annotations

import json
from hashlib import blake2b
from inspect import Parameter, Signature, signature
from weakref import WeakKeyDictionary

from policyctl.runtime.errors import PolicyConfigError
from policyctl.runtime.idempotency.trees import tree
from policyctl.runtime.lazy import LazyCallable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from policyctl.runtime.settings import Idempotency

_LONGEST = 200
_missing = object()


class Key:
    """The identity of one call.

    Attributes:
        stored: the name of the record in a store.
        forwarded: what the callee gets: the argument itself where the key is one text
            that a header can carry, else a digest.
        fingerprint: a digest of all arguments, to notice a key used for another call.
    """

    __slots__ = ("fingerprint", "forwarded", "stored")

    def __init__(self, stored: str, forwarded: str, fingerprint: str) -> None:
        self.stored = stored
        self.forwarded = forwarded
        self.fingerprint = fingerprint


class KeyMaker:
    """Makes keys for one operation from its ``idempotency`` settings."""

    __slots__ = ("_call", "_ignored", "_name", "_paths", "_signatures")

    def __init__(self, name: str, settings: Idempotency) -> None:
        self._name = name
        self._paths = tuple(tuple(path.split(".")) for path in settings.key)
        self._call = (
            None
            if settings.key_call is None
            else LazyCallable(settings.key_call, "idempotency.key")
        )
        forward = settings.forward
        self._ignored = None if forward is None else forward.argument
        self._signatures: WeakKeyDictionary[Any, Signature] = WeakKeyDictionary()

    def of(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Key | None:
        """The key of ``fn(*args, **kwargs)``; None if ``key: {call: …}`` returns None.

        Raises:
            TypeError: the arguments do not fit ``fn``, or a key value is of a type
                whose text would differ from process to process.
            ValueError: every value of the key is None.
            PolicyConfigError: a path of the key names nothing.
        """
        arguments = self._bind(fn, args, kwargs)
        if self._call is not None:
            made = self._call(*args, **kwargs)
            if made is None:
                return None
            values = [made]
        else:
            values = [self._value(path, arguments) for path in self._paths]
            if all(value is None for value in values):
                raise ValueError(
                    f"{self._name}: the idempotency key "
                    f"({', '.join('.'.join(p) for p in self._paths)}) is None"
                )
        texts = [_text(value, self._name) for value in values]
        digest = _digest(json.dumps([self._name, *texts]))
        plain = values[0] if len(values) == 1 and isinstance(values[0], str) else ""
        forwarded = plain if _is_header_value(plain) else digest
        shown = json.dumps(texts)
        stored = f"{self._name}:{shown if len(shown) <= _LONGEST else digest}"
        return Key(stored, forwarded, self._fingerprint(arguments))

    def _bind(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        """All arguments by parameter, defaults included, ``**kwargs`` spread out."""
        found = self._signature(fn)
        if self._ignored is not None and self._ignored in found.parameters:
            given = found.bind_partial(*args, **kwargs).arguments
            if self._ignored not in given:
                kwargs = {**kwargs, self._ignored: None}
        bound = found.bind(*args, **kwargs)
        bound.apply_defaults()
        arguments: dict[str, Any] = {}
        for name, value in bound.arguments.items():
            if found.parameters[name].kind is Parameter.VAR_KEYWORD:
                arguments.update(value)
            else:
                arguments[name] = value
        return arguments

    def position_of(self, fn: Callable[..., Any], name: str) -> int | None:
        """Where ``fn`` takes ``name`` by position; None if it does not."""
        names = [
            parameter.name
            for parameter in self._signature(fn).parameters.values()
            if parameter.kind is Parameter.POSITIONAL_OR_KEYWORD
            or parameter.kind is Parameter.POSITIONAL_ONLY
        ]
        return names.index(name) if name in names else None

    def _signature(self, fn: Callable[..., Any]) -> Signature:
        bound_to = getattr(fn, "__self__", None)
        if bound_to is not None:
            return signature(fn)
        try:
            found = self._signatures.get(fn)
            if found is None:
                found = self._signatures[fn] = signature(fn)
        except TypeError:
            return signature(fn)
        return found

    def _value(self, path: tuple[str, ...], arguments: dict[str, Any]) -> Any:
        value: Any = arguments.get(path[0], _missing)
        if value is _missing:
            raise self._no_such(path, path[0], "parameters", list(arguments))
        for part in path[1:]:
            inner: Any = getattr(value, part, _missing)
            if inner is _missing:
                try:
                    inner = value[part]
                except Exception:
                    kind = type(value).__name__
                    raise self._no_such(path, part, f"a {kind}", []) from None
            value = inner
        return value

    def _no_such(
        self, path: tuple[str, ...], part: str, where: str, known: list[str]
    ) -> PolicyConfigError:
        service, _, operation = self._name.partition(".")
        among = f" ({', '.join(known)})" if known else ""
        return PolicyConfigError(
            f"{'.'.join(path)!r} names nothing: no {part!r} in {where}{among}",
            path="idempotency.key",
            help="name a parameter of the function, or a path into one",
            service=service,
            operation=operation,
        )

    def _fingerprint(self, arguments: dict[str, Any]) -> str:
        content = [
            [name, tree(value)]
            for index, (name, value) in enumerate(arguments.items())
            if name != self._ignored and not (index == 0 and name in ("self", "cls"))
        ]
        return _digest(json.dumps(content))


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _is_header_value(text: str) -> bool:
    """Whether a header can carry the text as it is; spaces around it would get lost."""
    if not 0 < len(text) <= _LONGEST or text != text.strip():
        return False
    return text.isascii() and text.isprintable()


def _text(value: Any, name: str) -> str:
    """A text that is the same for equal values in every process."""
    try:
        return json.dumps(tree(value, strict=True))
    except TypeError as error:
        raise TypeError(
            f"{name}: an idempotency key cannot be made of {error}; "
            "use a text, a number, a date, or a path to one"
        ) from None
