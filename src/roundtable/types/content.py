"""What a message may hold beside text, and what a provider does by itself."""

from __future__ import annotations

from base64 import b64encode
from mimetypes import guess_type
from typing import Annotated, Final, Literal, Self

from pydantic import Field

from roundtable.types.base import JsonObject, JsonValue, NonEmpty, Value

__all__ = ["ImagePart", "NativeContent", "NativeSearch", "RateLimit", "ServerCall"]

_FALLBACK: Final = "image/png"


class ImagePart(Value):
    """An image shown to a model.

    Example:
        >>> image = ImagePart.from_bytes(b"hi", "image/png")
        >>> image.url, image.data, image.media_type
        ('data:image/png;base64,aGk=', 'aGk=', 'image/png')
    """

    url: NonEmpty = Field(repr=False)
    """Where the provider finds it, or the image itself as a `data:` address in base64."""

    @classmethod
    def from_bytes(cls, data: bytes, media_type: str) -> Self:
        """Make one from its bytes and their kind, such as `image/jpeg`."""
        return cls(url=f"data:{media_type};base64,{b64encode(data).decode()}")

    @property
    def data(self) -> str | None:
        """Its bytes in base64; `None` where only its address is known."""
        head, found, rest = self.url.partition(";base64,")
        return rest if found and head.startswith("data:") else None

    @property
    def media_type(self) -> str:
        """Its kind; guessed from the end of an address."""
        if self.data is not None:
            return self.url[5:].partition(";")[0] or _FALLBACK
        return guess_type(self.url.partition("?")[0])[0] or _FALLBACK


class NativeContent(Value):
    """An answer in its provider's own words.

    Some providers ask to get their answer back unchanged when a conversation goes on: signed or encrypted
    reasoning, search results with their keys.
    """

    provider: NonEmpty
    """Name of the provider that understands it."""
    items: tuple[JsonObject, ...]
    """Its blocks, parts or items, in order."""


class NativeSearch(Value):
    """How a provider searches the web by itself; what it does not know is passed over.

    Example:
        >>> NativeSearch(recency="week").max_uses
        5
    """

    max_uses: Annotated[int, Field(gt=0)] = 5
    """Most searches of one answer."""
    context_size: Literal["low", "medium", "high"] = "medium"
    """How much of the results the model reads."""
    recency: Literal["hour", "day", "week", "month", "year"] | None = None
    """How old a result may be."""
    allowed_domains: tuple[NonEmpty, ...] = ()
    """The only domains to search."""
    blocked_domains: tuple[NonEmpty, ...] = ()
    """Domains to leave out."""
    images: bool = False
    """Whether to look for images too."""
    related_questions: bool = False
    """Whether to suggest questions that follow."""


class ServerCall(Value):
    """A tool the provider ran itself while it answered."""

    name: NonEmpty
    """Name, such as `web_search`."""
    input: JsonValue = None
    """What it was asked."""
    output: JsonValue = None
    """What came of it, as far as the provider says."""


class RateLimit(Value):
    """What is left of a provider's rate limits, from the headers of an answer."""

    requests_limit: int | None = None
    """Calls allowed in a window."""
    requests_remaining: int | None = None
    """Calls left in it."""
    requests_reset_s: float | None = None
    """Seconds until all of them are there again."""
    tokens_limit: int | None = None
    """Tokens allowed in a window."""
    tokens_remaining: int | None = None
    """Tokens left in it."""
    tokens_reset_s: float | None = None
    """Seconds until all of them are there again."""
