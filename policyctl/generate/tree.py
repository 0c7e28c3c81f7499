"""The files of a package in memory: packed, and some of them known by digest alone."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Self

from policyctl.generate.digest import Digest, content_digest

_FAST = 1


class NotBuiltError(Exception):
    """A file was taken to be on disk already, and is there no longer."""


class Content:
    """The bytes of a file, packed to a sixth; ``digest`` is that of the bytes."""

    __slots__ = ("_packed", "digest")

    def __init__(self, *parts: bytes) -> None:
        self._take(parts)

    @classmethod
    def of(cls, parts: Iterable[bytes]) -> Self:
        """The content that consists of parts, without ever holding all of it."""
        made = cls.__new__(cls)
        made._take(parts)
        return made

    def _take(self, parts: Iterable[bytes]) -> None:
        found = Digest()
        packer = zlib.compressobj(_FAST)
        packed: list[bytes] = []
        for part in parts:
            found.add(part)
            packed.append(packer.compress(part))
        self._packed = b"".join((*packed, packer.flush()))
        self.digest = found.text()

    def read(self) -> bytes:
        """The bytes."""
        return zlib.decompress(self._packed)


def content_of(content: bytes | Content | None) -> bytes:
    """The bytes of either form; none for None."""
    return content.read() if isinstance(content, Content) else content or b""


class Tree(Mapping[PurePosixPath, bytes]):
    """Files by their path below the output folder, in the order of paths.

    Looking one up gives its bytes, or raises :class:`NotBuiltError` for one that was
    added by its digest.
    """

    def __init__(self) -> None:
        self._files: dict[str, Content | str] = {}

    def add(self, name: str, content: bytes) -> str:
        """Add a file; return its digest."""
        packed = self._files[name] = Content(content)
        return packed.digest

    def add_parts(self, name: str, parts: Iterable[bytes]) -> str:
        """Add a file that comes in parts; return its digest."""
        packed = self._files[name] = Content.of(parts)
        return packed.digest

    def add_known(self, name: str, digest: str) -> str:
        """Add a file that is on disk, by the digest of its bytes; return that."""
        self._files[name] = digest
        return digest

    def content(self, path: PurePosixPath) -> Content:
        """A file, still packed.

        Raises:
            NotBuiltError: only its digest is known.
        """
        found = self._files[str(path)]
        if isinstance(found, str):
            raise NotBuiltError(str(path))
        return found

    def matches(self, path: PurePosixPath, old: bytes) -> bool:
        """Whether a file on disk is the one here, line ends of Windows aside.

        Raises:
            NotBuiltError: it is not, and only the digest of the one here is known.
        """
        found = self._files[str(path)]
        digest = found if isinstance(found, str) else found.digest
        if content_digest(old) == digest:
            return True
        if b"\r\n" in old and content_digest(old.replace(b"\r\n", b"\n")) == digest:
            return True
        self.content(path)
        return False

    def __getitem__(self, path: PurePosixPath) -> bytes:
        return self.content(path).read()

    def __iter__(self) -> Iterator[PurePosixPath]:
        return map(PurePosixPath, sorted(self._files))

    def __len__(self) -> int:
        return len(self._files)

    def __contains__(self, path: object) -> bool:
        return str(path) in self._files

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and dict(self) == dict(
            other  # pyright: ignore[reportUnknownArgumentType]
        )

    __hash__ = None  # type: ignore[assignment]
