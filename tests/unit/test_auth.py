"""Who may use a server: tokens are told apart, kept as digests, and stop at their time."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import anyio
import pytest
from pydantic import ValidationError

from roundtable.auth import (
    SCOPES,
    Authenticator,
    Forbidden,
    Identity,
    LocalUser,
    TokenAuthenticator,
    TokenStore,
    Unauthorized,
    until_invalid,
)
from roundtable.auth.identity import public_error
from roundtable.errors import ConfigurationError, StorageError
from roundtable.storage import MemoryStorage, SQLiteStorage
from roundtable.testing.doubles import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def tokens(clock: ManualClock) -> TokenStore:
    return TokenStore.of(MemoryStorage(clock=clock), clock=clock)


async def test_a_token_identifies_its_user(tokens: TokenStore) -> None:
    issued = await tokens.create("ada", scopes=("write",), label="notebook")
    identity = await TokenAuthenticator(tokens).authenticate(issued.secret)
    assert (identity.user, identity.tenant, identity.token_id) == ("ada", "ada", issued.info.id)
    assert [identity.may(scope) for scope in SCOPES] == [True, True, False]
    with pytest.raises(Forbidden, match="'admin'"):
        identity.require("admin")
    identity.require("read")


async def test_two_tokens_are_never_alike_and_hold_256_bits(tokens: TokenStore) -> None:
    made = {(await tokens.create("ada")).secret for _ in range(50)}
    assert len(made) == 50
    assert {len(secret) for secret in made} == {len("rt_") + 43}  # 43 letters of 6 bits


async def test_stored_tokens_cannot_be_used(tmp_path: Path) -> None:
    storage = SQLiteStorage(tmp_path / "t.db")
    issued = await TokenStore.of(storage).create("ada")
    await storage.aclose()
    kept = b"".join([await path.read_bytes() async for path in anyio.Path(tmp_path).iterdir()])
    assert b"ada" in kept
    assert issued.secret.encode() not in kept
    assert issued.secret.removeprefix("rt_").encode() not in kept
    assert issued.secret not in repr(issued.info)


def wrong(secret: str) -> dict[str, str | None]:
    return {
        "none": None,
        "empty": "",
        "cut": secret[:-1],
        "longer": secret + "A",
        "another case": secret.swapcase(),
        "without its head": secret.removeprefix("rt_"),
        "with a space": f" {secret}",
        "letters that look alike": secret.replace("r", "\N{CYRILLIC SMALL LETTER GHE}", 1),
        "half of a pair": "\ud800",
        "endless": secret * 100,
        "zero bytes": secret + "\0",
    }


@pytest.mark.parametrize("form", wrong("rt_x"))
async def test_every_invalid_token_is_refused_in_the_same_way(tokens: TokenStore, form: str) -> None:
    issued = await tokens.create("ada")
    with pytest.raises(Unauthorized) as caught:
        await tokens.verify(wrong(issued.secret)[form])
    assert caught.value.to_dict() == Unauthorized().to_dict()


async def test_expired_revoked_and_foreign_tokens_are_refused_in_the_same_way(
    tokens: TokenStore, clock: ManualClock
) -> None:
    short = await tokens.create("ada", days=0.5)
    gone = await tokens.create("ada")
    other = await tokens.create("ada", audience="api")
    assert await tokens.revoke(gone.info.id)
    assert not await tokens.revoke(gone.info.id)
    assert (await tokens.verify(other.secret, audience="api")).user == "ada"
    assert (await tokens.verify(short.secret, audience="mcp")).user == "ada"
    clock.move(timedelta(days=0.5).total_seconds())
    for secret in (short.secret, gone.secret, other.secret):
        with pytest.raises(Unauthorized) as caught:
            await tokens.verify(secret, audience="mcp")
        assert caught.value.to_dict() == Unauthorized().to_dict()


async def test_a_token_whose_stored_digest_differs_is_refused(clock: ManualClock) -> None:
    storage = MemoryStorage(clock=clock)
    tokens = TokenStore.of(storage, clock=clock)
    issued = await tokens.create("ada")
    key = f"token/{issued.info.id}"
    kept = await storage.kv.get(key, tenant=":auth")
    assert isinstance(kept, dict)
    await storage.kv.put(key, {**kept, "digest": "0" * 64}, tenant=":auth")
    with pytest.raises(Unauthorized):
        await tokens.verify(issued.secret)
    await storage.kv.put(key, {"id": "x"}, tenant=":auth")
    with pytest.raises(StorageError):
        await tokens.verify(issued.secret)


async def test_tokens_are_listed_in_their_order_and_by_user(tokens: TokenStore, clock: ManualClock) -> None:
    first = await tokens.create("ada", days=None)
    clock.move(1)
    second = await tokens.create("bo@example.org", scopes=("admin", "read", "read"))
    assert await tokens.list() == (first.info, second.info)
    assert await tokens.list("bo@example.org") == (second.info,)
    assert (first.info.expires_at, second.info.scopes) == (None, ("read", "admin"))


@pytest.mark.parametrize(
    "asked",
    [
        {"user": ""},
        {"user": ":auth"},
        {"user": "a" * 129},
        {"user": "a b"},
        {"scopes": ()},
        {"scopes": ("all",)},
        {"days": 0},
        {"days": float("nan")},
        {"days": 40_000},
    ],
)
async def test_invalid_options_for_a_token_are_refused(tokens: TokenStore, asked: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError):
        await tokens.create(**{"user": "ada", **asked})  # type: ignore[arg-type]
    assert await tokens.list() == ()


async def test_a_storage_without_values_cannot_keep_tokens() -> None:
    with pytest.raises(ConfigurationError, match="object has no key-value store"):
        TokenStore.of(object())  # type: ignore[arg-type]


async def test_a_stream_ends_within_a_minute_of_a_revocation(tokens: TokenStore, clock: ManualClock) -> None:
    issued = await tokens.create("ada", days=None)
    authenticator = TokenAuthenticator(tokens)
    identity = await authenticator.authenticate(issued.secret)

    async with anyio.create_task_group() as group:
        group.start_soon(until_invalid, authenticator, identity, clock)
        while clock.monotonic() < 600:
            await anyio.lowlevel.checkpoint()
        assert await tokens.revoke(issued.info.id)
        revoked = clock.monotonic()
    assert clock.monotonic() - revoked <= 60


async def test_a_stream_ends_when_its_token_expires(tokens: TokenStore, clock: ManualClock) -> None:
    issued = await tokens.create("ada", days=90 / 86_400)  # 90 s
    authenticator: Authenticator = TokenAuthenticator(tokens)
    await until_invalid(authenticator, await authenticator.authenticate(issued.secret), clock)
    assert 90 <= clock.monotonic() <= 91


async def test_a_local_user_needs_no_token_and_an_unknown_user_may_not_stay(tokens: TokenStore) -> None:
    local = LocalUser()
    identity = await local.authenticate(None)
    assert (identity.user, identity.may("admin"), identity.token_id) == ("default", True, None)
    assert await local.still_valid(identity)
    assert not await local.still_valid(Identity(user="ada"))
    assert not await TokenAuthenticator(tokens).still_valid(identity)
    with pytest.raises(ValidationError):
        LocalUser("two words")


def test_only_digests_are_compared_and_in_constant_time() -> None:
    """No `==` on a secret: what is compared is compared in constant time."""
    source = (Path(__file__).parents[2] / "src/roundtable/auth/tokens.py").read_text("utf-8")
    assert "hmac.compare_digest(stored.digest, digest)" in source
    assert not [line for line in source.splitlines() if "==" in line and ("digest" in line or "secret" in line)]


def test_an_identity_survives_json() -> None:
    identity = Identity(user="ada", scopes=("read",), token_id="0" * 16)
    assert Identity.model_validate(json.loads(identity.to_json())) == identity


def test_remote_users_see_that_a_storage_failed_but_no_file_names() -> None:
    file = "/srv/ada/debates.db"
    error = StorageError(f"{file!r} is full", retryable=True, hint=f"Free {file}.", details={"path": file})
    error.session_id = "7"
    told = public_error(error)
    assert (told.code, told.retryable, told.session_id) == ("STORAGE_ERROR", True, "7")
    assert "/srv" not in str(told.to_dict())
    other = Unauthorized()
    assert public_error(other) is other
