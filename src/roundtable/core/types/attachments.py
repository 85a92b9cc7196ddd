"""Files that belong to a question: images, PDF documents and texts, checked by their content."""

from __future__ import annotations

import os
import re
import zlib
from base64 import b64decode, b64encode
from functools import cached_property
from hashlib import sha256
from mimetypes import guess_type
from os import PathLike, fspath
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Annotated, Final, Literal, Self, TypeAlias

from pydantic import AfterValidator, Field, model_validator

from roundtable.core.errors import ConfigurationError
from roundtable.core.types.base import FilePart, ImagePart, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = [
    "IMAGE_TOKENS",
    "PAGE_TOKENS",
    "Attachment",
    "AttachmentInfo",
    "AttachmentKind",
    "AttachmentLike",
    "read_attachments",
    "size_in_words",
    "stored_contents",
]

AttachmentKind: TypeAlias = Literal["image", "pdf", "text"]
"""How a model receives a file: as an image, as a PDF document, or as text in the prompt."""

IMAGE_TOKENS: Final = 1_600
"""Estimated tokens of an image. This is the number for Anthropic's largest size; models of other providers need about
as many tokens, or fewer."""
PAGE_TOKENS: Final = 3_000
"""Estimated tokens of a page of a PDF document, which models read both as text and as an image."""

_MOST_FILES: Final = 20
_MOST_BYTES: Final = 12 * 1024 * 1024
_MOST_IMAGE_BYTES: Final = 3_750_000  # 5 MB in base64, Anthropic's limit, which is the lowest of all providers
_MOST_PAGES: Final = 100  # Anthropic's limit, https://docs.claude.com/en/docs/build-with-claude/pdf-support
_MOST_CHARS: Final = 1_000_000
_MOST_STREAMS: Final = 2_000
_MOST_INFLATED: Final = 32 * 1024 * 1024  # bytes that are inflated, plus the bytes that are read for that
_BLOCK: Final = 16 * 1024

_PDF: Final = "application/pdf"
_SIGNATURES: Final = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
    # Readers accept a PDF whose header is anywhere in the first kilobyte; see `_media_type`.
    (re.compile(rb".{0,1019}%PDF-\d", re.DOTALL), _PDF),
)
_BINARY_TYPES: Final = frozenset(media_type for _, media_type in _SIGNATURES)
_TEXTUAL: Final = re.compile(
    r"text/.+|application/(?:json|xml|yaml|x-yaml|toml|javascript|x-javascript|sql|x-sh|x-ndjson|.+\+(?:json|xml))"
)
_TEXT_SUFFIXES: Final = (".txt", ".md", ".csv", ".json", ".html", ".htm", ".xml", ".yaml", ".yml", ".toml", ".py")
"""Ends of file names that mean a text on every machine."""
_PAGE: Final = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_OBJECTS: Final = re.compile(rb"/ObjStm\b")
_STREAM: Final = re.compile(rb".{0,300}?stream\r?\n", re.DOTALL)

_MOST_CHECKED: Final = 4_096
_checked: Final[set[tuple[str, int]]] = set()
"""Contents whose hash was checked: SHA-256, and the hash of Python, which differs from process to process. A session is
read often, and the SHA-256 of large files takes a tenth of a second."""

_SPLIT_IT: Final = "Attach the part that the question is about."
_KINDS: Final = "Attach PNG, JPEG, GIF or WebP images, PDF documents, or texts in UTF-8."


def _printable(name: str) -> str:
    if not name.isprintable() or not name.strip():
        raise ValueError("a file name must have visible characters and no line breaks or control characters")
    return name


_FileName: TypeAlias = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_printable)]


class Attachment(Value):
    """A file that belongs to a question: a PNG, JPEG, GIF or WebP image, a PDF document, or a text.

    Example:
        >>> Attachment(name="rules.md", text="Be brief.").kind
        'text'
        >>> Attachment.from_bytes(b"%PDF-1.7 ...", name="report.pdf").media_type
        'application/pdf'
    """

    name: _FileName = "attachment"
    """File name; agents can see it."""
    media_type: Annotated[str, Field(max_length=100)] | None = None
    """Media type, such as `image/png`; when left out, it is recognised by the content. A wrong media type is
    refused."""
    text: Annotated[str, Field(max_length=_MOST_CHARS)] | None = Field(default=None, repr=False)
    """Content of a text, at most 1,000,000 characters."""
    data: Annotated[str, Field(max_length=_MOST_BYTES * 4 // 3 + 4)] | None = Field(default=None, repr=False)
    """Content of any file, in base64. An image may have at most 3.75 MB, a PDF document at most 100 pages."""

    @model_validator(mode="after")
    def _has_one_content(self) -> Self:
        if (self.text is None) == (self.data is None):
            raise ValueError("an attachment takes either text or data")
        return self

    @classmethod
    def from_bytes(cls, content: bytes, *, name: str = "attachment", media_type: str | None = None) -> Self:
        """Create an attachment from the content of a file.

        Raises:
            ConfigurationError: The content is not an image, a PDF document or a text, is too large, or has another type
                than its name or `media_type` states.
        """
        detected = _media_type(content, name, media_type)
        if detected in _BINARY_TYPES:
            _check_size(content, name, detected)
            return cls(name=name, media_type=detected, data=b64encode(content).decode())
        text = content.decode("utf-8-sig")
        if len(text) > _MOST_CHARS:
            raise _refused(name, f"has {len(text):,} characters; at most {_MOST_CHARS:,} are allowed", _SPLIT_IT)
        return cls(name=name, media_type=detected, text=text)

    @classmethod
    def from_file(cls, path: str | PathLike[str]) -> Self:
        """Create an attachment from a file.

        Raises:
            ConfigurationError: The path does not lead to a regular file, the file cannot be read, or `from_bytes`
                refuses its content.
        """
        file = Path(path).expanduser()
        name = "".join(char if char.isprintable() else "?" for char in file.name)[-200:] or "attachment"
        try:
            with open(file, "rb", opener=_open_at_once) as opened:
                status = os.fstat(opened.fileno())
                if not S_ISREG(status.st_mode):
                    raise _refused(name, "is not a regular file", "Attach a file, or pass its bytes.")
                # The file may grow meanwhile, or state no size, as special files of the system do.
                content = b"" if status.st_size > _MOST_BYTES else opened.read(_MOST_BYTES + 1)
        except OSError as error:
            reason = f"cannot be read: {error.strerror or error}"
            raise _refused(name, reason, "Check the path and its permissions.") from error
        if max(status.st_size, len(content)) > _MOST_BYTES:
            raise _too_large(name, max(status.st_size, len(content)))
        return cls.from_bytes(content, name=name)

    @classmethod
    def stored(cls, info: AttachmentInfo, content: str) -> Self:
        """Return an attachment from its stored content; `is_unchanged` checks the content."""
        form = {"text": content} if info.kind == "text" else {"data": content}
        attachment = cls(name=info.name, media_type=info.media_type, **form)
        vars(attachment)["info"] = info
        return attachment

    @property
    def is_unchanged(self) -> bool:
        """Whether the content has the hash in `info`; computed only once per process for each content."""
        mark = self.info.sha256, hash(self.text if self.data is None else self.data)
        if mark in _checked:
            return True
        try:
            is_unchanged = sha256(self.content).hexdigest() == self.info.sha256
        except ValueError:
            return False
        if is_unchanged:
            if len(_checked) >= _MOST_CHECKED:
                _checked.clear()
            _checked.add(mark)
        return is_unchanged

    def checked(self) -> Self:
        """Return this attachment with the media type that its content has.

        Raises:
            ConfigurationError: `data` is not base64, or `from_bytes` refuses the content.
        """
        try:
            content = self.content
        except ValueError as error:
            raise _refused(self.name, "has data that is not base64", "Encode the file in base64.") from error
        return self.from_bytes(content, name=self.name, media_type=self.media_type)

    @property
    def content(self) -> bytes:
        """The bytes of the file."""
        return b64decode(self.data, validate=True) if self.data is not None else (self.text or "").encode()

    @property
    def kind(self) -> AttachmentKind:
        """How a model receives the file."""
        return _kind_of(self.media_type or "")

    @cached_property
    def info(self) -> AttachmentInfo:
        """Name, type, size and hash of the file."""
        content = self.content
        return AttachmentInfo(
            name=self.name,
            media_type=self.media_type or "text/plain",
            size=len(content),
            sha256=sha256(content).hexdigest(),
            pages=_count_pages(content) if self.kind == "pdf" else None,
        )

    @cached_property
    def image(self) -> ImagePart:
        """The image as a part of a message."""
        return ImagePart(url=f"data:{self.media_type};base64,{self.data}")

    @cached_property
    def file(self) -> FilePart:
        """The document as a part of a message."""
        return FilePart(
            name=self.name, media_type=self.media_type or _PDF, data=self.data or "", pages=self.info.pages or 1
        )


class AttachmentInfo(Value):
    """Facts about an attached file, without its content.

    Example:
        >>> Attachment(name="rules.md", text="Be brief.").info.in_words
        'rules.md (text/plain, 9 bytes)'
    """

    name: _FileName
    """File name."""
    media_type: str
    """Media type of its content."""
    size: Annotated[int, Field(ge=0)]
    """Size in bytes."""
    sha256: str
    """SHA-256 of its content, in hexadecimal digits."""
    pages: Annotated[int, Field(ge=1)] | None = None
    """Number of pages of a PDF document; an estimate if the pages cannot be counted."""

    @property
    def kind(self) -> AttachmentKind:
        """How a model receives the file."""
        return _kind_of(self.media_type)

    @property
    def tokens(self) -> int:
        """Estimated tokens of an image or a document; 0 for a text, since its tokens are counted with the prompt."""
        return IMAGE_TOKENS if self.kind == "image" else PAGE_TOKENS * (self.pages or 0)

    @property
    def in_words(self) -> str:
        """Name, type and size for display."""
        return f"{self.name} ({self.media_type}, {size_in_words(self.size)})"


AttachmentLike: TypeAlias = Attachment | str | bytes | PathLike[str]
"""A file of a question: its path, its bytes, or an `Attachment`."""


def read_attachments(files: Sequence[AttachmentLike]) -> tuple[Attachment, ...]:
    """Read and check the files of a question; if a file is given twice, it is kept once.

    Raises:
        ConfigurationError: There are too many files, or one of them is refused.
    """
    if isinstance(files, str | bytes | PathLike) or not hasattr(files, "__iter__"):
        msg = f"attachments must be a list of files, not {type(files).__name__}"
        raise ConfigurationError(msg, hint="Write attachments=['chart.png'], with brackets.")
    if len(files) > _MOST_FILES:
        msg = f"{len(files)} files are attached; at most {_MOST_FILES} are allowed"
        raise ConfigurationError(msg, code="ATTACHMENT_INVALID", hint="Join texts, or leave files out.")
    by_hash: dict[str, Attachment] = {}
    for attachment in map(_read, files):
        by_hash.setdefault(attachment.info.sha256, attachment)
    total = sum(attachment.info.size for attachment in by_hash.values())
    if total > _MOST_BYTES:
        raise _too_large("all files together", total)
    return tuple(by_hash.values())


def stored_contents(attachments: Iterable[Attachment]) -> dict[str, str]:
    """Return the contents of files by hash, in their stored form: a text unchanged, any other file in base64."""
    return {each.info.sha256: (each.text if each.data is None else each.data) or "" for each in attachments}


def _open_at_once(path: str, flags: int) -> int:
    """Open a file at once, even if it is a pipe whose other end is not open."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _read(file: AttachmentLike) -> Attachment:
    match file:
        case Attachment():
            return file.checked()
        case bytes():
            return Attachment.from_bytes(file)
        case str() | PathLike():
            return Attachment.from_file(fspath(file))
        case _:
            msg = f"a file must be a path, bytes or an Attachment, not {type(file).__name__}"
            raise ConfigurationError(msg, hint="Write attachments=['chart.png'].")


def size_in_words(size: int) -> str:
    """Return a size in bytes for display.

    Example:
        >>> size_in_words(900), size_in_words(12_300), size_in_words(3_750_000)
        ('900 bytes', '12.3 kB', '3.8 MB')
    """
    if size < 1_000:
        return f"{size} bytes"
    return f"{size / 1_000:.1f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"


def _kind_of(media_type: str) -> AttachmentKind:
    if media_type == _PDF:
        return "pdf"
    return "image" if media_type in _BINARY_TYPES else "text"


def _media_type(content: bytes, name: str, claimed: str | None) -> str:
    """Return the media type of a content.

    Raises:
        ConfigurationError: The content has an unknown type, or another type than stated.
    """
    if not content:
        raise _refused(name, "is empty", _KINDS)
    claim = (claimed or "").partition(";")[0].strip().lower().replace("image/jpg", "image/jpeg")
    by_name = guess_type(name)[0] or ""
    claim = claim or (by_name if by_name in _BINARY_TYPES or by_name.startswith("image/") else "")
    detected = next((media_type for pattern, media_type in _SIGNATURES if pattern.match(content)), None)
    if detected is None or (detected == _PDF and claim != _PDF and not content.startswith(b"%PDF-")):
        # A text may mention the header of a PDF.
        detected = _text_type(content, claim or by_name) or detected
    if detected in _BINARY_TYPES and name.lower().endswith(_TEXT_SUFFIXES):
        claim = claim or by_name or "text/plain"
    if detected is None and not claim:
        raise _refused(name, "is neither an image, a PDF document nor a text", _KINDS)
    if detected is None or (claim and detected != claim):
        contents = f"contains {detected}" if detected else "contains something else"
        is_misnamed = detected is not None and not _BINARY_TYPES.isdisjoint((claim, detected))
        hint = "Correct its name or media type." if is_misnamed else _KINDS
        raise _refused(name, f"is called {claim}, but {contents}", hint)
    return detected


def _text_type(content: bytes, claim: str) -> str | None:
    """Return the media type of a text; `None` if the content is not a text."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    if "\0" in text:
        return None
    return claim if _TEXTUAL.fullmatch(claim) else "text/plain"


def _check_size(content: bytes, name: str, media_type: str) -> None:
    most = _MOST_BYTES if media_type == _PDF else _MOST_IMAGE_BYTES
    if len(content) > most:
        raise _too_large(name, len(content), most)
    if media_type == _PDF and (pages := _count_pages(content)) > _MOST_PAGES:
        raise _refused(name, f"has {pages} pages; at most {_MOST_PAGES} are allowed", _SPLIT_IT)


def _count_pages(content: bytes) -> int:
    """Count the pages of a PDF document; if they are compressed in an unknown way, estimate them from the size."""
    pages = len(_PAGE.findall(content)) + sum(len(_PAGE.findall(objects)) for objects in _object_streams(content))
    return pages or max(1, min(_MOST_PAGES, len(content) // 50_000))


def _object_streams(content: bytes) -> Iterator[bytes]:
    """Yield the contents of the compressed object streams of a PDF document, up to limits of their number and size."""
    view, position, room = memoryview(content), 0, _MOST_INFLATED
    for _ in range(_MOST_STREAMS):
        mark = _OBJECTS.search(content, position)
        if mark is None or room <= 0:
            return
        start = _STREAM.match(content, mark.end())
        position = (start or mark).end()
        if start is not None:
            objects, used = _inflated(view[position:], room)
            room -= used
            yield objects


def _inflated(content: memoryview, room: int) -> tuple[bytes, int]:
    """Return the content of a compressed stream, and the number of bytes that were read and inflated for it.

    Args:
        content: Bytes that begin with the stream.
        room: Number of bytes after which the content is cut off.
    """
    inflater, inflated, used = zlib.decompressobj(), bytearray(), 0
    for at in range(0, len(content), _BLOCK):
        block = content[at : at + _BLOCK]
        used += len(block)
        try:
            piece = inflater.decompress(block, max(1, room - used))
        except zlib.error:
            return b"", used
        inflated += piece
        used += len(piece) - len(inflater.unused_data)
        if inflater.eof or used >= room:
            break
    return bytes(inflated), used


def _too_large(name: str, size: int, most: int = _MOST_BYTES) -> ConfigurationError:
    reason = f"takes {size_in_words(size)}; at most {size_in_words(most)} are allowed"
    return _refused(name, reason, "Attach a smaller version.")


def _refused(name: str, reason: str, hint: str) -> ConfigurationError:
    return ConfigurationError(f"{name[:100]!r} {reason}", code="ATTACHMENT_INVALID", hint=hint)
