"""The base of every value that crosses a boundary: frozen, with camelCase names in JSON, and snake_case in Python."""

from __future__ import annotations

import re
import sys
from base64 import b64encode
from collections.abc import Collection, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import cache
from itertools import pairwise
from mimetypes import guess_type
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, Self, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    ValidationError,
    field_validator,
    model_serializer,
)
from pydantic.alias_generators import to_camel

from roundtable.core.base.strict_json import shallow

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema, ErrorDetails

__all__ = [
    "FilePart",
    "ImagePart",
    "JsonObject",
    "JsonValue",
    "KeepsNulls",
    "NativeContent",
    "NativeSearch",
    "NonEmpty",
    "RateLimit",
    "SearchProfile",
    "ServerCall",
    "Share",
    "Timestamp",
    "Value",
    "as_named",
    "field_docs",
    "first_error",
    "invalid_field_text",
    "nearest_error",
    "utc_now",
    "with_upper_bound",
]

_KIND: Final = re.compile(r"[A-Z]\w*|bool|int|float|(constrained-)?str|.*\[.*")

_set: Final = object.__setattr__

_with_descriptions: ContextVar[bool] = ContextVar("roundtable_field_descriptions", default=False)

_FALLBACK_MEDIA_TYPE: Final = "image/png"


def _unknown_field(kind: type[BaseModel], changes: Mapping[str, Any]) -> TypeError:
    """Return the error for a change to a field that a type does not have."""
    known = kind.__pydantic_fields__
    name = next(name for name in changes if name not in known)
    close = get_close_matches(name, known, 1)
    hint = f"did you mean {close[0]!r}?" if close else f"its fields are {', '.join(known)}"
    return TypeError(f"{kind.__name__} has no field {name!r}; {hint}")


class Value(BaseModel):
    """A frozen value; two values with equal fields are equal.

    Names are snake_case in Python and camelCase in JSON. Input may have either form. Unknown names are refused, so that
    a misspelt option is never ignored. Values that JSON cannot represent are refused too: NaN, infinities, and halves
    of surrogate pairs. A value is hashable unless it contains a mapping.

    Example:
        >>> from roundtable.types import Citation
        >>> Citation(title="Paper", url="https://example.org/a").to_json()
        '{"title":"Paper","url":"https://example.org/a","snippet":null}'
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        defer_build=True,
        allow_inf_nan=False,
        # Every length is at least zero; the setting makes pydantic check that texts can be encoded.
        str_min_length=0,
    )

    @classmethod
    def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:  # noqa: ANN401  (pydantic's signature)
        """Return the JSON schema, with the docstring of each field as its description; see pydantic."""
        if cls.model_computed_fields and len(args) < 4:
            # The written form has more fields than the form that is read.
            kwargs.setdefault("mode", "serialization")
        token = _with_descriptions.set(True)
        try:
            return super().model_json_schema(*args, **kwargs)
        finally:
            _with_descriptions.reset(token)

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the JSON schema of this type; with the docstrings of its fields, if they were requested."""
        schema = handler(core_schema)
        if _with_descriptions.get():
            properties = handler.resolve_ref_schema(schema).get("properties", {})
            for name, text in field_docs(cls).items():
                field = cls.model_fields.get(name)
                aliases = () if field is None else (field.serialization_alias, field.alias, name)
                part = next((properties[alias] for alias in aliases if alias in properties), None)
                if part is not None:
                    part.setdefault("description", text)
        return schema

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with some fields changed, without validation; see pydantic.

        Results that a property has computed from the fields are not copied.

        Raises:
            TypeError: `update` names a field that does not exist.
        """
        if update and not update.keys() <= self.__pydantic_fields__.keys():
            raise _unknown_field(type(self), update)
        if deep or self.__pydantic_private__ is not None:
            return super().model_copy(update=update, deep=deep)
        changes = update or {}
        fields = {**self.__dict__, **changes}
        if len(fields) > len(self.__pydantic_fields__):
            fields = {name: value for name, value in fields.items() if name in self.__pydantic_fields__}
        return self._from_fields(fields, self.__pydantic_fields_set__ | changes.keys())

    @classmethod
    def _from_fields(cls, fields: dict[str, Any], names: set[str]) -> Self:
        """Create a value from all its fields, without validation; `names` are the fields that were set explicitly.

        Use this only for fields that come from validated values.
        """
        value = cls.__new__(cls)
        _set(value, "__dict__", fields)
        _set(value, "__pydantic_fields_set__", names)
        _set(value, "__pydantic_extra__", None)
        _set(value, "__pydantic_private__", None)
        return value

    def to_json(self) -> str:
        """Render this value as compact camelCase JSON."""
        return self.model_dump_json()

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Parse `to_json` output.

        Raises:
            pydantic.ValidationError: The text is not JSON or does not fit this type.
        """
        return cls.model_validate_json(text)


class KeepsNulls(Value):
    """A value with fields whose `null` is kept in JSON even where other nulls are left out.

    These are the fields that would be read as something else if they were missing: those with another default than
    `None`, and those without a default.
    """

    @model_serializer(mode="wrap")
    def _serialize(self, serialize_fields: SerializerFunctionWrapHandler, info: SerializationInfo) -> dict[str, Any]:
        """Put back the nulls that were left out but have a meaning."""
        data: dict[str, Any] = serialize_fields(self)
        if info.exclude_none:
            for name, field in type(self).__pydantic_fields__.items():
                if field.default is not None and getattr(self, name) is None:
                    data[(info.by_alias and field.serialization_alias) or name] = None
        return data

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Describe the fields also in the schema of the serialized form, which would otherwise be just "an object"."""
        fields: Any = {name: value for name, value in core_schema.items() if name != "serialization"}
        return super().__get_pydantic_json_schema__(fields, handler)


@cache
def field_docs(kind: type) -> dict[str, str]:
    """Return the docstring of each field of a class, including inherited fields; the source is parsed on first use.

    Classes without source code have no docstrings. Reading them at import would take longer than the import itself.
    """
    docs: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        docs |= _docs_by_class(base.__module__).get(base.__name__, {})
    return docs


@cache
def _docs_by_class(module: str) -> dict[str, dict[str, str]]:
    """Return the docstrings of the fields of each class of a module."""
    import ast
    import inspect

    try:
        parsed = ast.parse(inspect.getsource(sys.modules[module]))
    except (KeyError, OSError, TypeError):
        return {}
    docs: dict[str, dict[str, str]] = {}
    for kind in (node for node in ast.walk(parsed) if isinstance(node, ast.ClassDef)):
        field_texts = docs.setdefault(kind.name, {})
        for statement, below in pairwise(kind.body):
            match statement, below:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                    field_texts[name] = inspect.cleandoc(text)
                case _:
                    pass
    return docs


def with_upper_bound(data: object, lower: str, upper: str) -> object:
    """Return the data of a value; if the upper bound is left out, it is set to the lower bound."""
    if not isinstance(data, Mapping) or upper in data or to_camel(upper) in data:
        return data
    bound = data.get(lower, data.get(to_camel(lower)))
    return data if bound is None else {**data, upper: bound}


def utc_now() -> datetime:
    """Return the current time as an aware UTC datetime."""
    return datetime.now(UTC)


def first_error(error: ValidationError) -> tuple[str, str]:
    """Return the first invalid field as a dotted path, and a description of the fault.

    Example:
        >>> from roundtable.types import Message
        >>> try:
        ...     Message(role="user", content=7)
        ... except ValidationError as error:
        ...     first_error(error)[0]
        'content'
    """
    first = nearest_error(error)
    return ".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, ")


def invalid_field_text(error: ValidationError, model: type[BaseModel], *, left_out: Collection[str] = ()) -> str:
    """Return the first invalid field and its fault as one text; for an unknown field, with the fields to choose from.

    Fields that are `left_out` can't be chosen.

    Example:
        >>> from roundtable.types import Budget
        >>> try:
        ...     Budget.model_validate({"calls": 3})
        ... except ValidationError as error:
        ...     invalid_field_text(error, Budget)[:51]
        'calls: unknown field; choose from max_cost_usd, max'
    """
    first = nearest_error(error)
    *outer, name = first["loc"] or ("",)
    if first["type"] != "extra_forbidden":
        return ": ".join(filter(None, first_error(error)))
    for part in outer:
        info = model.model_fields.get(str(part))
        if info is None or not isinstance(info.annotation, type) or not issubclass(info.annotation, BaseModel):
            return f"{'.'.join(map(str, first['loc']))}: unknown field"
        model = info.annotation
    choices = [field for field in model.model_fields if field not in left_out]
    where = f" of {'.'.join(map(str, outer))}" if outer else ""
    return f"{name}: unknown field{where}; choose from {', '.join(choices)}"


def nearest_error(error: ValidationError) -> ErrorDetails:
    """Return the first validation error; for a union, the error of the member that is most similar to the value.

    Example:
        >>> from roundtable.types import AgentConfig
        >>> try:
        ...     AgentConfig.model_validate({"id": "ada", "name": "Ada", "provider": "openai", "search": {"maxUses": 0}})
        ... except ValidationError as error:
        ...     nearest_error(error)["loc"]
        ('search', 'maxUses')
    """
    errors = error.errors(include_url=False, include_input=False, include_context=False)
    errors = [detail for detail in errors if detail["loc"][:1] == errors[0]["loc"][:1]]
    if len(errors) == 1:
        return errors[0]
    depth = max(len(detail["loc"]) for detail in errors)
    first, *others = [detail for detail in errors if len(detail["loc"]) == depth]
    location = _without_kinds(first["loc"])
    messages = [first["msg"], *(detail["msg"] for detail in others if _without_kinds(detail["loc"]) == location)]
    return {**first, "loc": location, "msg": "; or: ".join(dict.fromkeys(messages))}


def _without_kinds(loc: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """Return an error location without the names of union members that pydantic adds: classes and types."""
    inner = [part for part in loc[1:] if isinstance(part, int) or not _KIND.fullmatch(part)]
    return (*loc[:1], *inner)


def as_named(value: object) -> object:
    """Return a plain text as `{"name": text}`; for validators that run before the fields are parsed."""
    return {"name": value} if isinstance(value, str) else value


def _as_utc(value: datetime) -> datetime:
    if value.tzinfo is UTC:
        return value
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError:
        raise ValueError("a time must lie in the years 1 to 9999, in UTC") from None


JsonObject: TypeAlias = dict[str, JsonValue]
"""A JSON object as a Python dict."""

NonEmpty: TypeAlias = Annotated[str, Field(min_length=1)]
"""Text of at least one character."""

Share: TypeAlias = Annotated[float, Field(ge=0.0, le=1.0)]
"""A finite number in [0, 1]."""

Timestamp: TypeAlias = Annotated[datetime, AfterValidator(_as_utc)]
"""A UTC time with time zone; a time without a time zone counts as UTC."""


class ImagePart(Value):
    """An image that a model sees.

    Example:
        >>> image = ImagePart.from_bytes(b"hi", "image/png")
        >>> image.url, image.data, image.media_type
        ('data:image/png;base64,aGk=', 'aGk=', 'image/png')
    """

    url: NonEmpty = Field(repr=False)
    """Address of the image, or the image itself as a base64 `data:` URL."""

    @classmethod
    def from_bytes(cls, data: bytes, media_type: str) -> Self:
        """Create an image from its bytes and media type, such as `image/jpeg`."""
        return cls(url=f"data:{media_type};base64,{b64encode(data).decode()}")

    @property
    def data(self) -> str | None:
        """The image in base64; `None` if only its address is known."""
        head, separator, content = self.url.partition(";base64,")
        return content if separator and head.startswith("data:") else None

    @property
    def media_type(self) -> str:
        """Media type of the image; guessed from the file extension if only the address is known."""
        if self.data is not None:
            return self.url[5:].partition(";")[0] or _FALLBACK_MEDIA_TYPE
        return guess_type(self.url.partition("?")[0])[0] or _FALLBACK_MEDIA_TYPE


class FilePart(Value):
    """A document that a model sees.

    Example:
        >>> FilePart(name="report.pdf", media_type="application/pdf", data="JVBERg==").url
        'data:application/pdf;base64,JVBERg=='
    """

    name: NonEmpty
    """File name; some providers show it to the model."""
    media_type: NonEmpty
    """Media type, such as `application/pdf`."""
    data: NonEmpty = Field(repr=False)
    """The document in base64."""
    pages: Annotated[int, Field(ge=1)] = 1
    """Number of pages, from which the tokens are estimated; it is not sent."""

    @property
    def url(self) -> str:
        """The document as a `data:` URL."""
        return f"data:{self.media_type};base64,{self.data}"


class NativeContent(Value):
    """An answer in the format of its provider.

    When the conversation continues, some providers need parts of their answer back unchanged, such as signed or
    encrypted reasoning, or search results with their keys.
    """

    provider: NonEmpty
    """Name of the provider that uses this format."""
    items: tuple[JsonObject, ...]
    """Blocks, parts or items of the answer, in order."""


def _bare_domain(value: str) -> str:
    """Check that a value is a domain, without a scheme or spaces."""
    host = value.partition("/")[0]
    if "://" in value or not value.isprintable() or " " in value or host.strip(".") != host or not host[:1].isalnum():
        raise ValueError(f"{value!r} is not a domain; write example.org, without https:// and without spaces")
    return value


_Domains: TypeAlias = tuple[Annotated[NonEmpty, AfterValidator(_bare_domain)], ...]


class NativeSearch(Value):
    """Options of a provider's own web search. `SearchProfile` states which of them a provider supports.

    Example:
        >>> NativeSearch(recency="week").max_uses
        5
    """

    max_uses: Annotated[int, Field(ge=1, le=100)] = 5
    """Maximum number of searches per answer, 1 to 100."""
    context_size: Literal["low", "medium", "high"] = "medium"
    """Amount of search results that the model reads."""
    recency: Literal["hour", "day", "week", "month", "year"] | None = None
    """Maximum age of a result."""
    allowed_domains: _Domains = ()
    """Only these domains are searched, for example `example.org`."""
    blocked_domains: _Domains = ()
    """Domains that are not searched."""
    images: bool = False
    """Whether to search for images too."""
    related_questions: bool = False
    """Whether to suggest follow-up questions."""

    @property
    def asked(self) -> frozenset[str]:
        """Names of the options that differ from their defaults."""
        return frozenset(self.model_dump(exclude_defaults=True, by_alias=False))

    def over(self, other: NativeSearch) -> NativeSearch:
        """Return these options; options that are not set have the values of `other`.

        Example:
            >>> NativeSearch(recency="week").over(NativeSearch(max_uses=2, recency="day"))
            NativeSearch(max_uses=2, context_size='medium', recency='week', allowed_domains=(), ...)
        """
        own = self.model_fields_set
        names = own | other.model_fields_set
        return NativeSearch(**{name: getattr(self if name in own else other, name) for name in names})


class SearchProfile(Value):
    """The options that a provider's own web search supports.

    Example:
        >>> SearchProfile(takes=("max_uses",)).misfits(NativeSearch(max_uses=2, recency="day"))
        ('recency',)
    """

    by_default: bool = True
    """Whether `search="auto"` uses this search; if not, only explicit options turn it on."""
    built_in: bool = False
    """Whether the model searches by default, so that a request must turn the search off. Debaters with such
    a model search by default, and their prompts ask for sources."""
    takes: tuple[str, ...] = ()
    """Names of the supported options of `NativeSearch`."""
    one_list: bool = False
    """Whether a search may have allowed or blocked domains, but not both."""
    most_domains: int | None = None
    """Maximum number of domains; `None` if no limit is known."""

    def misfits(self, search: NativeSearch) -> tuple[str, ...]:
        """Return the names of the options that this search does not support, also those with too many domains."""
        requested, domains = search.asked, len(search.allowed_domains) + len(search.blocked_domains)
        unsupported = {name for name in requested if name not in self.takes}
        if self.one_list and search.allowed_domains and search.blocked_domains:
            unsupported.add("blocked_domains")
        if self.most_domains is not None and domains > self.most_domains:
            unsupported |= {name for name in ("allowed_domains", "blocked_domains") if name in requested}
        return tuple(sorted(unsupported))

    def fitted(self, search: NativeSearch) -> NativeSearch | None:
        """Return the supported part of a search; `None` if the search could not respect the requested domains.

        Example:
            >>> search = NativeSearch(max_uses=2, recency="day")
            >>> SearchProfile(takes=("max_uses",)).fitted(search) == NativeSearch(max_uses=2)
            True
        """
        unsupported = set(self.misfits(search))
        if unsupported & {"allowed_domains", "blocked_domains"}:
            return None
        return NativeSearch(**search.model_dump(exclude_unset=True, exclude=unsupported, by_alias=False))


class ServerCall(Value):
    """A tool call that the provider made itself while it answered."""

    name: NonEmpty
    """Tool name, such as `web_search`."""
    input: JsonValue = None
    """Input of the tool; a text if the input is nested more than 64 levels deep. The same applies to `output`."""
    output: JsonValue = None
    """Result of the tool, if the provider reports it."""

    @field_validator("input", "output", mode="before")
    @classmethod
    def _leave_out_deep_values(cls, value: object) -> object:
        return shallow(value)


class RateLimit(Value):
    """Rate limits of a provider and their remainders, from the headers of a response."""

    requests_limit: int | None = None
    """Calls that are allowed per time window."""
    requests_remaining: int | None = None
    """Calls that are left in the time window."""
    requests_reset_s: float | None = None
    """Seconds until the full limit of calls is available again."""
    tokens_limit: int | None = None
    """Tokens that are allowed per time window."""
    tokens_remaining: int | None = None
    """Tokens that are left in the time window."""
    tokens_reset_s: float | None = None
    """Seconds until the full limit of tokens is available again."""
