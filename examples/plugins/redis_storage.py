"""Sessions in Redis: `Roundtable(storage="redis://localhost:6379/0", plugins=[redis_storage])`.

A session is a hash (record, lease, summary), a list of events and a hash of turns. Each write is one transaction, made
again when somebody else wrote meanwhile. What every storage decides alike comes from the library.
"""

from __future__ import annotations

import json
from datetime import datetime
from functools import partial

from anyio import to_thread
from redis import Redis, RedisError

from roundtable import hookimpl
from roundtable.errors import StorageError
from roundtable.storage import SystemClock, memory, rules, well_formed
from roundtable.storage.rules import json_text
from roundtable.types import SessionRecord, SessionSummary, durable_event


def _tenant(tenant):
    return f"roundtable:{json_text(well_formed(tenant))}"


def _key(tenant, session_id):
    return f"{_tenant(tenant)}:{json_text(well_formed(session_id))}"


def _held(client, key, session_id):
    held = client.hgetall(key)
    if not held:
        raise rules.session_not_found(session_id)
    return held


def _lease(held):
    token, owner, until = json.loads(held.get("lease", "[0, null, null]"))
    return rules.LeaseState(token, owner, datetime.fromisoformat(until)) if token else None


@hookimpl
def roundtable_register_storages(registrar):
    """Open `redis://...`."""
    registrar.add("redis", RedisStorage, summary="Kept in a Redis server.")


class RedisStorage:
    """Keeps sessions in a Redis server, for any number of processes."""

    def __init__(self, url, clock=None):
        self._redis = Redis.from_url(url, decode_responses=True)
        self._clock = clock or SystemClock()
        self._closed = False

    async def create(self, record):
        """Store a new, empty session."""
        text, stored = rules.record_text(record)
        key = _key(record.tenant, record.id)

        def work(pipe):
            if pipe.exists(key):
                raise rules.session_exists(record.id)
            pipe.multi()
            pipe.hset(key, mapping={"record": text, "summary": memory.initial_summary(stored).to_json()})
            pipe.sadd(_tenant(record.tenant), stored.id)

        await self._write(work, key)

    async def append(self, session_id, expected_seq, token, events, *, tenant="default"):
        """Store events, all or none, and give the number of the last one."""
        rules.check_append(session_id, token, events)
        key = _key(tenant, session_id)

        def work(pipe):
            held = _held(pipe, key, session_id)
            if token is not None:
                rules.check_token(session_id, _lease(held), token)
            summary = SessionSummary.from_json(held["summary"])
            rules.check_number(session_id, expected_seq, summary.last_seq)
            fresh = memory.numbered(events, summary.last_seq, lambda turn: pipe.hget(f"{key}:turns", json.dumps(turn)))
            summary = memory.updated_summary(summary, fresh)
            pipe.multi()
            pipe.hset(key, "summary", summary.to_json())
            for one in fresh:
                pipe.rpush(f"{key}:events", one.text)
                if one.place:
                    pipe.hset(f"{key}:turns", json.dumps(one.place), one.text)
            return summary.last_seq

        return await self._write(work, key)

    async def read(self, session_id, after=0, *, tenant="default"):
        """Return the session and its events numbered above `after`, in order."""
        key = _key(tenant, session_id)
        held = await self._run(_held, self._redis, key, session_id)
        texts = await self._run(self._redis.lrange, f"{key}:events", min(max(after, 0), rules.MAX_NUMBER), -1)
        return SessionRecord.from_json(held["record"]), tuple(map(durable_event, texts))

    async def list(self, wanted):
        """List sessions, newest first."""
        ids = await self._run(self._redis.smembers, _tenant(wanted.tenant))
        texts = [await self._run(self._redis.hget, _key(wanted.tenant, name), "summary") for name in ids]
        found = [one for one in map(SessionSummary.from_json, filter(None, texts)) if memory.is_wanted(one, wanted)]
        return tuple(sorted(found, key=lambda one: (one.created_at, one.id), reverse=True)[: wanted.limit])

    async def lease(self, session_id, owner, ttl_s, *, tenant="default"):
        """Take, renew or give up the right to append."""
        key = _key(tenant, session_id)
        number = await self._run(self._redis.incr, f"{_tenant(tenant)}:tokens")

        def work(pipe):
            held = _lease(_held(pipe, key, session_id))
            given = rules.grant(session_id, held, owner, ttl_s, now=self._clock.now(), next_token=lambda: number)
            pipe.multi()
            pipe.hset(key, "lease", json.dumps([given.token, given.owner, given.expires_at.isoformat()]))
            return given.to_lease(owner)

        return await self._write(work, key)

    async def delete(self, session_id, *, tenant="default"):
        """Remove a session and its events."""
        key = _key(tenant, session_id)

        def work(pipe):
            _held(pipe, key, session_id)
            pipe.multi()
            pipe.delete(key, f"{key}:events", f"{key}:turns")
            pipe.srem(_tenant(tenant), well_formed(session_id))

        await self._write(work, key)

    async def aclose(self):
        """Close the connections; idempotent."""
        self._closed = True
        await to_thread.run_sync(self._redis.close)

    async def _write(self, work, key):
        return await self._run(partial(self._redis.transaction, value_from_callable=True), work, key)

    async def _run(self, call, *words):
        if self._closed:
            raise StorageError("the storage is closed", hint="Open a new one.")
        try:
            return await to_thread.run_sync(partial(call, *words))
        except RedisError as error:
            raise StorageError(f"Redis failed: {error}", cause=error, hint="Look at address and server.") from error
