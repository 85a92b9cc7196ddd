--
-- PostgreSQL database dump
--


-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: roundtable; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA roundtable;


--
-- Name: roundtable_fleet; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA roundtable_fleet;


--
-- Name: append(bytea, bytea, bigint, bigint, text, bigint[], text, bigint[], bigint, text[], bigint[], text[], bigint[], bigint[], bytea[], bigint[], bigint[], bigint[], text[]); Type: FUNCTION; Schema: roundtable; Owner: -
--

CREATE FUNCTION roundtable.append(session_key bytea, append_id bytea, lease_token bigint, old_seq bigint, old_status text, old_numbers bigint[], new_status text, new_numbers bigint[], new_us bigint, types text[], times bigint[], bodies text[], turn_seqs bigint[], turn_rounds bigint[], turn_stages bytea[], turn_slots bigint[], turn_attempts bigint[], text_seqs bigint[], texts text[], OUT verdict text, OUT last bigint, OUT status text, OUT numbers bigint[], OUT stored_seqs bigint[], OUT stored_bodies text[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
    DECLARE
        session "roundtable".sessions%ROWTYPE;
        added CONSTANT BIGINT := coalesce(array_length(bodies, 1), 0);
    BEGIN
        SELECT * INTO session FROM "roundtable".sessions AS s WHERE s.key = session_key FOR UPDATE;
        IF NOT FOUND THEN
            verdict := 'missing';
            RETURN;
        END IF;
        IF append_id = ANY (session.append_ids) THEN  -- sent again, after the connection broke
            verdict := 'stored';
            last := session.append_ends[array_position(session.append_ids, append_id)];
            RETURN;
        END IF;
        last := session.last_seq;
        IF lease_token IS NOT NULL AND NOT EXISTS (
            SELECT FROM "roundtable".leases AS l WHERE l.key = session_key AND l.token = lease_token AND l.owner IS NOT NULL
        ) THEN
            verdict := 'token';
            RETURN;
        END IF;
        status := session.status;
        numbers := ARRAY[session.current_round, session.total_rounds, session.response_count];
        IF old_seq IS DISTINCT FROM last OR old_status <> status OR old_numbers <> numbers THEN
            verdict := 'state';
            RETURN;
        END IF;
        IF added = 0 THEN
            verdict := 'stored';
            RETURN;
        END IF;
        SELECT array_agg(sent.seq), array_agg(e.body) INTO stored_seqs, stored_bodies
        FROM unnest(turn_seqs, turn_rounds, turn_stages, turn_slots, turn_attempts)
            AS sent (seq, round, stage_key, slot, attempt)
        JOIN "roundtable".turns AS t ON t.key = session_key AND t.round = sent.round AND t.stage_key = sent.stage_key
            AND t.slot = sent.slot AND t.attempt = sent.attempt
        JOIN "roundtable".events AS e ON e.key = session_key AND e.seq = t.seq;
        IF stored_seqs IS NOT NULL THEN
            verdict := 'turns';
            RETURN;
        END IF;
        INSERT INTO "roundtable".events (key, seq, type, timestamp_us, body)
        SELECT session_key, old_seq + place, type, time, body
        FROM unnest(types, times, bodies) WITH ORDINALITY AS sent (type, time, body, place);
        INSERT INTO "roundtable".turns (key, seq, round, stage_key, slot, attempt)
        SELECT session_key, sent.*
        FROM unnest(turn_seqs, turn_rounds, turn_stages, turn_slots, turn_attempts) AS sent;
        INSERT INTO "roundtable".positions (key, seq, words)
        SELECT session_key, sent.seq, array_to_tsvector(string_to_array(sent.words, ' '))
        FROM unnest(text_seqs, texts) AS sent (seq, words);
        last := old_seq + added;
        UPDATE "roundtable".sessions AS s
        SET status = new_status, current_round = new_numbers[1], total_rounds = new_numbers[2],
            response_count = new_numbers[3], last_seq = append.last, updated_us = new_us,
            append_ids = (append_id || s.append_ids)[1:8], append_ends = (append.last || s.append_ends)[1:8]
        WHERE s.key = session_key;
        verdict := 'stored';
    END
    $$;


--
-- Name: swap(bytea, bytea, text, bigint, text, text, bigint); Type: FUNCTION; Schema: roundtable; Owner: -
--

CREATE FUNCTION roundtable.swap(tenant bytea, hash bytea, stored_name text, now_us bigint, seen text, new_value text, new_us bigint) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
    BEGIN
        IF seen IS NULL THEN
            INSERT INTO "roundtable".key_values AS v (tenant_key, name_key, name, value, expires_us)
            VALUES (tenant, hash, stored_name, new_value, new_us)
            ON CONFLICT (tenant_key, name_key)
            DO UPDATE SET value = excluded.value, expires_us = excluded.expires_us WHERE v.expires_us <= now_us;
        ELSE
            UPDATE "roundtable".key_values AS v SET value = new_value, expires_us = new_us
            WHERE v.tenant_key = tenant AND v.name_key = hash AND v.value = seen
              AND (v.expires_us IS NULL OR v.expires_us > now_us);
        END IF;
        RETURN FOUND;
    END
    $$;


--
-- Name: take_lease(bytea, bytea, bigint, text, bigint, boolean, text, bigint); Type: FUNCTION; Schema: roundtable; Owner: -
--

CREATE FUNCTION roundtable.take_lease(session_key bytea, tenant bytea, seen_token bigint, seen_owner text, seen_us bigint, new_token boolean, new_owner text, new_us bigint, OUT verdict text, OUT granted bigint) RETURNS record
    LANGUAGE plpgsql
    AS $$
    DECLARE
        held "roundtable".leases%ROWTYPE;
    BEGIN
        PERFORM FROM "roundtable".sessions AS s WHERE s.key = session_key FOR UPDATE;
        IF NOT FOUND THEN
            verdict := 'missing';
            RETURN;
        END IF;
        SELECT * INTO held FROM "roundtable".leases AS l WHERE l.key = session_key;
        IF (held.token, held.owner, held.expires_us) IS DISTINCT FROM (seen_token, seen_owner, seen_us) THEN
            verdict := 'changed';
            RETURN;
        END IF;
        granted := seen_token;
        IF new_token THEN
            INSERT INTO "roundtable".tokens AS t (tenant_key, last) VALUES (tenant, 1)
            ON CONFLICT (tenant_key) DO UPDATE SET last = t.last + 1
            RETURNING t.last INTO granted;
        END IF;
        INSERT INTO "roundtable".leases (key, token, owner, expires_us) VALUES (session_key, granted, new_owner, new_us)
        ON CONFLICT (key)
        DO UPDATE SET token = excluded.token, owner = excluded.owner, expires_us = excluded.expires_us;
        verdict := 'granted';
    END
    $$;


--
-- Name: enqueue_workflow(text, text, json[], json, text, text, text, text, bigint, bigint, text, integer, text, text, text, bigint, text); Type: FUNCTION; Schema: roundtable_fleet; Owner: -
--

CREATE FUNCTION roundtable_fleet.enqueue_workflow(workflow_name text, queue_name text, positional_args json[] DEFAULT ARRAY[]::json[], named_args json DEFAULT '{}'::json, class_name text DEFAULT NULL::text, config_name text DEFAULT NULL::text, workflow_id text DEFAULT NULL::text, app_version text DEFAULT NULL::text, timeout_ms bigint DEFAULT NULL::bigint, deadline_epoch_ms bigint DEFAULT NULL::bigint, deduplication_id text DEFAULT NULL::text, priority integer DEFAULT NULL::integer, queue_partition_key text DEFAULT NULL::text, authenticated_user text DEFAULT NULL::text, authenticated_roles text DEFAULT NULL::text, delay_until_epoch_ms bigint DEFAULT NULL::bigint, application_name text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    v_workflow_id TEXT;
    v_serialized_inputs TEXT;
    v_owner_xid TEXT;
    v_now BIGINT;
    v_recovery_attempts INT4 := 0;
    v_priority INT4;
    v_status TEXT;
BEGIN

    -- Validate required parameters
    IF workflow_name IS NULL OR workflow_name = '' THEN
        RAISE EXCEPTION 'Workflow name cannot be null or empty';
    END IF;
    IF queue_name IS NULL OR queue_name = '' THEN
        RAISE EXCEPTION 'Queue name cannot be null or empty';
    END IF;
    IF named_args IS NOT NULL AND jsonb_typeof(named_args::jsonb) != 'object' THEN
        RAISE EXCEPTION 'Named args must be a JSON object';
    END IF;
    IF workflow_id IS NOT NULL AND workflow_id = '' THEN
        RAISE EXCEPTION 'Workflow ID cannot be an empty string if provided.';
    END IF;
    IF delay_until_epoch_ms IS NOT NULL AND delay_until_epoch_ms < 0 THEN
        RAISE EXCEPTION 'delay_until_epoch_ms must be >= 0';
    END IF;

    v_workflow_id := COALESCE(workflow_id, gen_random_uuid()::TEXT);
    v_owner_xid := gen_random_uuid()::TEXT;
    v_priority := COALESCE(priority, 0);
    v_serialized_inputs := json_build_object(
        'positionalArgs', positional_args,
        'namedArgs', named_args
    )::TEXT;
    v_now := EXTRACT(epoch FROM now()) * 1000;
    v_status := CASE WHEN delay_until_epoch_ms IS NULL THEN 'ENQUEUED' ELSE 'DELAYED' END;

    INSERT INTO "roundtable_fleet".workflow_status (
        workflow_uuid, status,
        name, class_name, config_name,
        queue_name, deduplication_id, priority, queue_partition_key,
        application_version,
        created_at, updated_at, recovery_attempts,
        workflow_timeout_ms, workflow_deadline_epoch_ms,
        parent_workflow_id, owner_xid, serialization,
        authenticated_user, authenticated_roles,
        delay_until_epoch_ms, application_name
    ) VALUES (
        v_workflow_id, v_status,
        workflow_name, class_name, config_name,
        queue_name, deduplication_id, v_priority, queue_partition_key,
        app_version,
        v_now, v_now, v_recovery_attempts,
        timeout_ms, deadline_epoch_ms,
        NULL, v_owner_xid, 'portable_json',
        authenticated_user, authenticated_roles,
        delay_until_epoch_ms, application_name
    )
    ON CONFLICT (workflow_uuid)
    DO UPDATE SET
        updated_at = EXCLUDED.updated_at;

    INSERT INTO "roundtable_fleet".workflow_input (
        workflow_uuid, inputs, retention_timestamp
    ) VALUES (
        v_workflow_id, v_serialized_inputs, v_now
    )
    ON CONFLICT (workflow_uuid) DO NOTHING;

    RETURN v_workflow_id;

EXCEPTION
    WHEN unique_violation THEN
        RAISE EXCEPTION 'DBOS queue duplicated'
            USING DETAIL = format('Workflow %s with queue %s and deduplication ID %s already exists', v_workflow_id, queue_name, deduplication_id),
                ERRCODE = 'unique_violation';
END;
$$;


--
-- Name: notifications_function(); Type: FUNCTION; Schema: roundtable_fleet; Owner: -
--

CREATE FUNCTION roundtable_fleet.notifications_function() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    payload text := NEW.destination_uuid || '::' || NEW.topic;
BEGIN
    PERFORM pg_notify('dbos_notifications_channel', payload);
    RETURN NEW;
END;
$$;


--
-- Name: send_message(text, json, text, text); Type: FUNCTION; Schema: roundtable_fleet; Owner: -
--

CREATE FUNCTION roundtable_fleet.send_message(destination_id text, message json, topic text DEFAULT NULL::text, message_id text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    v_topic TEXT := COALESCE(topic, '__null__topic__');
    v_message_id TEXT := COALESCE(message_id, gen_random_uuid()::TEXT);
BEGIN
    INSERT INTO "roundtable_fleet".notifications (
        destination_uuid, topic, message, message_uuid, serialization
    ) VALUES (
        destination_id, v_topic, message, v_message_id, 'portable_json'
    )
    ON CONFLICT (message_uuid) DO NOTHING;
EXCEPTION
    WHEN foreign_key_violation THEN
        RAISE EXCEPTION 'DBOS non-existent workflow'
            USING DETAIL = format('Destination workflow %s does not exist', destination_id),
                ERRCODE = 'foreign_key_violation';
END;
$$;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: events; Type: TABLE; Schema: roundtable; Owner: -
--

CREATE TABLE roundtable.events (
    key bytea NOT NULL,
    seq bigint NOT NULL,
    type text NOT NULL,
    timestamp_us bigint NOT NULL,
    body text NOT NULL
);


--
-- Name: key_values; Type: TABLE; Schema: roundtable; Owner: -
--

CREATE TABLE roundtable.key_values (
    tenant_key bytea NOT NULL,
    name_key bytea NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL,
    expires_us bigint
);


--
-- Name: leases; Type: TABLE; Schema: roundtable; Owner: -
--

CREATE TABLE roundtable.leases (
    key bytea NOT NULL,
    token bigint NOT NULL,
    owner text,
    expires_us bigint NOT NULL
);


--
-- Name: positions; Type: TABLE; Schema: roundtable; Owner: -
--

CREATE TABLE roundtable.positions (
    key bytea NOT NULL,
    seq bigint NOT NULL,
    words tsvector NOT NULL
);


--
-- Name: schema_version; Type: TABLE; Schema: roundtable; Owner: -
--

CREATE TABLE roundtable.schema_version (
    version integer NOT NULL
);


--
-- Name: sessions; Type: TABLE; Schema: roundtable; Owner: -
--

CREATE TABLE roundtable.sessions (
    key bytea NOT NULL,
    tenant_key bytea NOT NULL,
    tenant text NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    record text NOT NULL,
    topic text NOT NULL,
    topic_searched text NOT NULL COLLATE pg_catalog."C",
    mode text NOT NULL COLLATE pg_catalog."C",
    agent_ids text NOT NULL,
    metadata text NOT NULL,
    status text NOT NULL,
    current_round bigint NOT NULL,
    total_rounds bigint NOT NULL,
    response_count bigint NOT NULL,
    last_seq bigint NOT NULL,
    created_us bigint NOT NULL,
    updated_us bigint NOT NULL,
    append_ids bytea[] NOT NULL,
    append_ends bigint[] NOT NULL
);


--
-- Name: tokens; Type: TABLE; Schema: roundtable; Owner: -
--

CREATE TABLE roundtable.tokens (
    tenant_key bytea NOT NULL,
    last bigint NOT NULL
);


--
-- Name: turns; Type: TABLE; Schema: roundtable; Owner: -
--

CREATE TABLE roundtable.turns (
    key bytea NOT NULL,
    round bigint NOT NULL,
    stage_key bytea NOT NULL,
    slot bigint NOT NULL,
    attempt bigint NOT NULL,
    seq bigint NOT NULL
);


--
-- Name: application_versions; Type: TABLE; Schema: roundtable_fleet; Owner: -
--

CREATE TABLE roundtable_fleet.application_versions (
    version_id text NOT NULL,
    version_name text NOT NULL,
    version_timestamp bigint DEFAULT ((EXTRACT(epoch FROM now()) * 1000.0))::bigint NOT NULL,
    created_at bigint DEFAULT ((EXTRACT(epoch FROM now()) * 1000.0))::bigint NOT NULL,
    application_name text
);


--
-- Name: dbos_migrations; Type: TABLE; Schema: roundtable_fleet; Owner: -
--

CREATE TABLE roundtable_fleet.dbos_migrations (
    version bigint NOT NULL
);


--
-- Name: event_dispatch_kv; Type: TABLE; Schema: roundtable_fleet; Owner: -
--

CREATE TABLE roundtable_fleet.event_dispatch_kv (
    service_name text NOT NULL,
    workflow_fn_name text NOT NULL,
    key text NOT NULL,
    value text,
    update_seq numeric(38,0),
    update_time numeric(38,15)
);


--
-- Name: notifications; Type: TABLE; Schema: roundtable_fleet; Owner: -
--

CREATE TABLE roundtable_fleet.notifications (
    message_uuid text DEFAULT gen_random_uuid() NOT NULL,
    destination_uuid text NOT NULL,
    topic text,
    message text NOT NULL,
    created_at_epoch_ms bigint DEFAULT ((EXTRACT(epoch FROM now()) * 1000.0))::bigint NOT NULL,
    serialization text,
    consumed boolean DEFAULT false NOT NULL,
    consumed_by_function_id integer
);


--
-- Name: operation_outputs; Type: TABLE; Schema: roundtable_fleet; Owner: -
--

CREATE TABLE roundtable_fleet.operation_outputs (
    workflow_uuid text NOT NULL,
    function_id integer NOT NULL,
    function_name text DEFAULT ''::text NOT NULL,
    output text,
    error text,
    child_workflow_id text,
    started_at_epoch_ms bigint,
    completed_at_epoch_ms bigint,
    serialization text,
    application_name text,
    retention_timestamp bigint DEFAULT ((EXTRACT(epoch FROM now()) * 1000.0))::bigint NOT NULL
);


--
-- Name: queues; Type: TABLE; Schema: roundtable_fleet; Owner: -
--

CREATE TABLE roundtable_fleet.queues (
    queue_id text DEFAULT (gen_random_uuid())::text NOT NULL,
    name text NOT NULL,
    concurrency integer,
    worker_concurrency integer,
    rate_limit_max integer,
    rate_limit_period_sec double precision,
    priority_enabled boolean DEFAULT false NOT NULL,
    partition_queue boolean DEFAULT false NOT NULL,
    polling_interval_sec double precision DEFAULT 1.0 NOT NULL,
    created_at bigint DEFAULT ((EXTRACT(epoch FROM now()) * 1000.0))::bigint NOT NULL,
    updated_at bigint DEFAULT ((EXTRACT(epoch FROM now()) * 1000.0))::bigint NOT NULL,
    application_name text,
    partition_concurrency integer,
    partition_worker_concurrency integer,
    partition_rate_limit_max integer,
    partition_rate_limit_period_sec double precision
);


--
-- Name: streams; Type: TABLE; Schema: roundtable_fleet; Owner: -
--

CREATE TABLE roundtable_fleet.streams (
    workflow_uuid text NOT NULL,
    key text NOT NULL,
    value text NOT NULL,
    "offset" integer NOT NULL,
    function_id integer DEFAULT 0 NOT NULL,
    serialization text
);


--
-- Name: workflow_events; Type: TABLE; Schema: roundtable_fleet; Owner: -
--

CREATE TABLE roundtable_fleet.workflow_events (
    workflow_uuid text NOT NULL,
    key text NOT NULL,
    value text NOT NULL,
    serialization text
);


--
-- Name: workflow_events_history; Type: TABLE; Schema: roundtable_fleet; Owner: -
--

CREATE TABLE roundtable_fleet.workflow_events_history (
    workflow_uuid text NOT NULL,
    function_id integer NOT NULL,
    key text NOT NULL,
    value text NOT NULL,
    serialization text
);


--
-- Name: workflow_input; Type: TABLE; Schema: roundtable_fleet; Owner: -
--

CREATE TABLE roundtable_fleet.workflow_input (
    workflow_uuid text NOT NULL,
    inputs text,
    retention_timestamp bigint DEFAULT ((EXTRACT(epoch FROM now()) * 1000.0))::bigint NOT NULL
);


--
-- Name: workflow_output; Type: TABLE; Schema: roundtable_fleet; Owner: -
--

CREATE TABLE roundtable_fleet.workflow_output (
    workflow_uuid text NOT NULL,
    output text,
    error text,
    retention_timestamp bigint DEFAULT ((EXTRACT(epoch FROM now()) * 1000.0))::bigint NOT NULL
);


--
-- Name: workflow_schedules; Type: TABLE; Schema: roundtable_fleet; Owner: -
--

CREATE TABLE roundtable_fleet.workflow_schedules (
    schedule_id text NOT NULL,
    schedule_name text NOT NULL,
    workflow_name text NOT NULL,
    workflow_class_name text,
    schedule text NOT NULL,
    status text DEFAULT 'ACTIVE'::text NOT NULL,
    context text NOT NULL,
    last_fired_at text,
    automatic_backfill boolean DEFAULT false NOT NULL,
    cron_timezone text,
    queue_name text,
    application_name text
);


--
-- Name: workflow_status; Type: TABLE; Schema: roundtable_fleet; Owner: -
--

CREATE TABLE roundtable_fleet.workflow_status (
    workflow_uuid text NOT NULL,
    status text,
    name text,
    authenticated_user text,
    assumed_role text,
    authenticated_roles text,
    request text,
    output text,
    error text,
    executor_id text,
    created_at bigint DEFAULT ((EXTRACT(epoch FROM now()) * 1000.0))::bigint NOT NULL,
    updated_at bigint DEFAULT ((EXTRACT(epoch FROM now()) * 1000.0))::bigint NOT NULL,
    application_version text,
    application_id text,
    class_name character varying(255) DEFAULT NULL::character varying,
    config_name character varying(255) DEFAULT NULL::character varying,
    recovery_attempts bigint DEFAULT 0,
    queue_name text,
    workflow_timeout_ms bigint,
    workflow_deadline_epoch_ms bigint,
    inputs text,
    started_at_epoch_ms bigint,
    deduplication_id text,
    priority integer DEFAULT 0 NOT NULL,
    queue_partition_key text,
    forked_from text,
    owner_xid text,
    parent_workflow_id text,
    serialization text,
    delay_until_epoch_ms bigint,
    was_forked_from boolean DEFAULT false NOT NULL,
    rate_limited boolean DEFAULT false NOT NULL,
    completed_at bigint,
    attributes jsonb,
    schedule_name text,
    debounce_deadline_epoch_ms bigint,
    is_debounced boolean DEFAULT false NOT NULL,
    application_name text,
    creator_xid text
);


--
-- Data for Name: events; Type: TABLE DATA; Schema: roundtable; Owner: -
--

INSERT INTO roundtable.events VALUES ('\x3f13029be650fe1928665bc4eb98b51178bacdd2c7f967d616ed778ee0380035', 1, 'debate_start', 1796040615873939, '{"sessionId":"e0b9181f869ae3883d26f7681d360aa8","timestamp":"2026-11-30T12:10:15.873939Z","seq":1,"previousHash":"a470f090842e8c6cfa394365ce8fd09e0ad99bdb0d84a5c02ee2b3ed06f9c7e4","type":"debate_start","topic":"question-0: tea or coffee?","mode":"collaborative","agents":["ada","bo"],"rounds":2}');
INSERT INTO roundtable.events VALUES ('\x3f13029be650fe1928665bc4eb98b51178bacdd2c7f967d616ed778ee0380035', 2, 'round_start', 1796040616030437, '{"sessionId":"e0b9181f869ae3883d26f7681d360aa8","timestamp":"2026-11-30T12:10:16.030437Z","seq":2,"previousHash":"b7d302574a9cfbd7c074795229d6bb80aed2d2141001e4944ad7717a6d94e6dd","type":"round_start","round":1,"agents":["ada","bo"],"focusQuestion":null,"contextResults":[],"goal":null}');
INSERT INTO roundtable.events VALUES ('\x3f13029be650fe1928665bc4eb98b51178bacdd2c7f967d616ed778ee0380035', 3, 'agent_complete', 1796040616200971, '{"sessionId":"e0b9181f869ae3883d26f7681d360aa8","timestamp":"2026-11-30T12:10:16.200971Z","seq":3,"previousHash":"82ebf945cbecae1c07657f405938573d68b56e464130f994fb7fc1b795c162a2","type":"agent_complete","turn":{"round":1,"stage":"positions","slot":0,"attempt":1,"agentId":"ada","agentName":"Ada","provider":"scripted","model":"x","role":"participant","decides":false,"durationS":0.06757051399995362,"timestamp":"2026-11-30T12:10:16.200971Z","outcome":"answered","result":{"answer":{"kind":"position","agentId":"ada","agentName":"Ada","position":"Tea","reasoning":"It keeps.","confidence":0.5,"stance":null,"choice":null,"bottomLine":null,"compared":[],"claims":[],"value":null,"citations":[],"toolCalls":[],"images":[],"relatedQuestions":[],"roleViolation":null,"timestamp":"2026-11-30T12:10:16.181583Z"},"usage":{"inputTokens":623,"outputTokens":12,"cacheReadTokens":0,"cacheWriteTokens":0,"longCacheWriteTokens":0,"reasoningTokens":0,"searches":0,"calls":1,"unreportedCalls":0,"costUsd":null,"partialCostUsd":null,"savedUsd":null},"usageByCall":[{"inputTokens":623,"outputTokens":12,"cacheReadTokens":0,"cacheWriteTokens":0,"longCacheWriteTokens":0,"reasoningTokens":0,"searches":0,"calls":1,"unreportedCalls":0,"costUsd":null,"partialCostUsd":null,"savedUsd":null}],"provider":"scripted","model":"scripted","finishReason":"stop","truncated":false,"repaired":false,"warnings":["no usable confidence was given; 0.5 is assumed"],"requestIds":[],"promptVersion":"4 collaborative/participant/first@2-en","contextRequests":[],"toolCalls":[]},"independent":true},"agent":"ada","round":1,"response":null,"toolCalls":null,"steps":null,"finishReason":null}');
INSERT INTO roundtable.events VALUES ('\x3f13029be650fe1928665bc4eb98b51178bacdd2c7f967d616ed778ee0380035', 4, 'agent_complete', 1796040616238386, '{"sessionId":"e0b9181f869ae3883d26f7681d360aa8","timestamp":"2026-11-30T12:10:16.238386Z","seq":4,"previousHash":"80733d7c19ffdbb99b3a058c945f7681a7a53feb79528ef6d82f645f5e1f9f76","type":"agent_complete","turn":{"round":1,"stage":"positions","slot":1,"attempt":1,"agentId":"bo","agentName":"Bo","provider":"scripted","model":"x","role":"participant","decides":false,"durationS":0.08768362999990131,"timestamp":"2026-11-30T12:10:16.238386Z","outcome":"answered","result":{"answer":{"kind":"position","agentId":"bo","agentName":"Bo","position":"Tea","reasoning":"It keeps.","confidence":0.5,"stance":null,"choice":null,"bottomLine":null,"compared":[],"claims":[],"value":null,"citations":[],"toolCalls":[],"images":[],"relatedQuestions":[],"roleViolation":null,"timestamp":"2026-11-30T12:10:16.238310Z"},"usage":{"inputTokens":623,"outputTokens":12,"cacheReadTokens":0,"cacheWriteTokens":0,"longCacheWriteTokens":0,"reasoningTokens":0,"searches":0,"calls":1,"unreportedCalls":0,"costUsd":null,"partialCostUsd":null,"savedUsd":null},"usageByCall":[{"inputTokens":623,"outputTokens":12,"cacheReadTokens":0,"cacheWriteTokens":0,"longCacheWriteTokens":0,"reasoningTokens":0,"searches":0,"calls":1,"unreportedCalls":0,"costUsd":null,"partialCostUsd":null,"savedUsd":null}],"provider":"scripted","model":"scripted","finishReason":"stop","truncated":false,"repaired":false,"warnings":["no usable confidence was given; 0.5 is assumed"],"requestIds":[],"promptVersion":"4 collaborative/participant/first@2-en","contextRequests":[],"toolCalls":[]},"independent":true},"agent":"bo","round":1,"response":null,"toolCalls":null,"steps":null,"finishReason":null}');
INSERT INTO roundtable.events VALUES ('\x3f13029be650fe1928665bc4eb98b51178bacdd2c7f967d616ed778ee0380035', 5, 'consensus', 1796040616325927, '{"sessionId":"e0b9181f869ae3883d26f7681d360aa8","timestamp":"2026-11-30T12:10:16.325927Z","seq":5,"previousHash":"ad83870a5f41a503f3f923bb6eaa46c08d6d74ce2e09e324428b8ab3b8ee92ab","type":"consensus","round":1,"consensus":{"agreementLevel":1.0,"agreementAtMost":1.0,"commonGround":["Tea"],"disagreementPoints":[],"summary":"All 2 answers say the same.","method":"declared","clusters":[{"theme":"Tea","agentIds":["ada","bo"],"summary":"Tea","answers":[0,1]}],"assigned":false,"groupthinkWarning":{"detected":false,"indicators":["all answers say the same"],"recommendation":""},"pairs":[],"keyPoints":{},"causes":[],"answers":2,"notCompared":[],"isLeadOpen":false,"abstained":[],"warnings":[]},"decision":{"rule":"plurality","parameters":{},"winners":["Tea"],"isTie":false,"passed":true,"isUnanimous":true,"quorumMet":true,"tied":[],"scores":{"Tea":2.0},"margins":{},"pairwise":{},"rounds":[],"cast":2,"voters":["ada","bo"],"abstained":[],"invalid":{},"mapping":{"Tea":"Tea"},"why":"Tea wins: 2 of 2 votes (100 %).","vote":null},"baseline":null,"independentAgreement":1.0,"independentAgreementReason":null,"usage":null}');
INSERT INTO roundtable.events VALUES ('\x3f13029be650fe1928665bc4eb98b51178bacdd2c7f967d616ed778ee0380035', 6, 'round_complete', 1796040616325927, '{"sessionId":"e0b9181f869ae3883d26f7681d360aa8","timestamp":"2026-11-30T12:10:16.325927Z","seq":6,"previousHash":"b650ce0969643b2dad447f733e05fe2e781206f7b8818136d553318d53a17c8e","type":"round_complete","round":1,"answered":2,"failed":0,"results":null,"step":false}');
INSERT INTO roundtable.events VALUES ('\x3f13029be650fe1928665bc4eb98b51178bacdd2c7f967d616ed778ee0380035', 7, 'round_start', 1796040616393544, '{"sessionId":"e0b9181f869ae3883d26f7681d360aa8","timestamp":"2026-11-30T12:10:16.393544Z","seq":7,"previousHash":"711eef9cfd94bfa4fa445b99a71da28320ab05263e05c5abb3b26c7e012d1a38","type":"round_start","round":2,"agents":["ada","bo"],"focusQuestion":null,"contextResults":[],"goal":null}');
INSERT INTO roundtable.events VALUES ('\x3f13029be650fe1928665bc4eb98b51178bacdd2c7f967d616ed778ee0380035', 8, 'agent_complete', 1796040616411312, '{"sessionId":"e0b9181f869ae3883d26f7681d360aa8","timestamp":"2026-11-30T12:10:16.411312Z","seq":8,"previousHash":"838dd80f30ee4faa24100b18a502ceef112f07fd192ae7e7c671a890ebdcf905","type":"agent_complete","turn":{"round":2,"stage":"positions","slot":0,"attempt":1,"agentId":"ada","agentName":"Ada","provider":"scripted","model":"x","role":"participant","decides":false,"durationS":0.0010055110001303547,"timestamp":"2026-11-30T12:10:16.411312Z","outcome":"answered","result":{"answer":{"kind":"position","agentId":"ada","agentName":"Ada","position":"Tea","reasoning":"It keeps.","confidence":0.5,"stance":null,"choice":null,"bottomLine":null,"compared":[],"claims":[],"value":null,"citations":[],"toolCalls":[],"images":[],"relatedQuestions":[],"roleViolation":null,"timestamp":"2026-11-30T12:10:16.411254Z"},"usage":{"inputTokens":839,"outputTokens":12,"cacheReadTokens":0,"cacheWriteTokens":0,"longCacheWriteTokens":0,"reasoningTokens":0,"searches":0,"calls":1,"unreportedCalls":0,"costUsd":null,"partialCostUsd":null,"savedUsd":null},"usageByCall":[{"inputTokens":839,"outputTokens":12,"cacheReadTokens":0,"cacheWriteTokens":0,"longCacheWriteTokens":0,"reasoningTokens":0,"searches":0,"calls":1,"unreportedCalls":0,"costUsd":null,"partialCostUsd":null,"savedUsd":null}],"provider":"scripted","model":"scripted","finishReason":"stop","truncated":false,"repaired":false,"warnings":["no usable confidence was given; 0.5 is assumed"],"requestIds":[],"promptVersion":"4 collaborative/participant/later@2-en","contextRequests":[],"toolCalls":[]},"independent":false},"agent":"ada","round":2,"response":null,"toolCalls":null,"steps":null,"finishReason":null}');
INSERT INTO roundtable.events VALUES ('\x3f13029be650fe1928665bc4eb98b51178bacdd2c7f967d616ed778ee0380035', 9, 'agent_complete', 1796040616411608, '{"sessionId":"e0b9181f869ae3883d26f7681d360aa8","timestamp":"2026-11-30T12:10:16.411608Z","seq":9,"previousHash":"27a88fdff49f1650704f5349fcb21b6061a4c87ddbf92dc69ce189b5906a4852","type":"agent_complete","turn":{"round":2,"stage":"positions","slot":1,"attempt":1,"agentId":"bo","agentName":"Bo","provider":"scripted","model":"x","role":"participant","decides":false,"durationS":0.0008417270000791177,"timestamp":"2026-11-30T12:10:16.411608Z","outcome":"answered","result":{"answer":{"kind":"position","agentId":"bo","agentName":"Bo","position":"Tea","reasoning":"It keeps.","confidence":0.5,"stance":null,"choice":null,"bottomLine":null,"compared":[],"claims":[],"value":null,"citations":[],"toolCalls":[],"images":[],"relatedQuestions":[],"roleViolation":null,"timestamp":"2026-11-30T12:10:16.411571Z"},"usage":{"inputTokens":839,"outputTokens":12,"cacheReadTokens":0,"cacheWriteTokens":0,"longCacheWriteTokens":0,"reasoningTokens":0,"searches":0,"calls":1,"unreportedCalls":0,"costUsd":null,"partialCostUsd":null,"savedUsd":null},"usageByCall":[{"inputTokens":839,"outputTokens":12,"cacheReadTokens":0,"cacheWriteTokens":0,"longCacheWriteTokens":0,"reasoningTokens":0,"searches":0,"calls":1,"unreportedCalls":0,"costUsd":null,"partialCostUsd":null,"savedUsd":null}],"provider":"scripted","model":"scripted","finishReason":"stop","truncated":false,"repaired":false,"warnings":["no usable confidence was given; 0.5 is assumed"],"requestIds":[],"promptVersion":"4 collaborative/participant/later@2-en","contextRequests":[],"toolCalls":[]},"independent":false},"agent":"bo","round":2,"response":null,"toolCalls":null,"steps":null,"finishReason":null}');
INSERT INTO roundtable.events VALUES ('\x3f13029be650fe1928665bc4eb98b51178bacdd2c7f967d616ed778ee0380035', 10, 'consensus', 1796040616450108, '{"sessionId":"e0b9181f869ae3883d26f7681d360aa8","timestamp":"2026-11-30T12:10:16.450108Z","seq":10,"previousHash":"d7975918ce37059b1e6c9d9bf327fe6d85756d9b935786937e6482f2ee66f0a4","type":"consensus","round":2,"consensus":{"agreementLevel":1.0,"agreementAtMost":1.0,"commonGround":["Tea"],"disagreementPoints":[],"summary":"All 2 answers say the same.","method":"declared","clusters":[{"theme":"Tea","agentIds":["ada","bo"],"summary":"Tea","answers":[0,1]}],"assigned":false,"groupthinkWarning":{"detected":false,"indicators":["all answers say the same"],"recommendation":""},"pairs":[],"keyPoints":{},"causes":[],"answers":2,"notCompared":[],"isLeadOpen":false,"abstained":[],"warnings":[]},"decision":{"rule":"plurality","parameters":{},"winners":["Tea"],"isTie":false,"passed":true,"isUnanimous":true,"quorumMet":true,"tied":[],"scores":{"Tea":2.0},"margins":{},"pairwise":{},"rounds":[],"cast":2,"voters":["ada","bo"],"abstained":[],"invalid":{},"mapping":{"Tea":"Tea"},"why":"Tea wins: 2 of 2 votes (100 %).","vote":null},"baseline":null,"independentAgreement":null,"independentAgreementReason":null,"usage":null}');
INSERT INTO roundtable.events VALUES ('\x3f13029be650fe1928665bc4eb98b51178bacdd2c7f967d616ed778ee0380035', 11, 'round_complete', 1796040616450108, '{"sessionId":"e0b9181f869ae3883d26f7681d360aa8","timestamp":"2026-11-30T12:10:16.450108Z","seq":11,"previousHash":"d018a8fba41373122d40a45e938352c3524c09129bd70bddf13f7497bcd5a5f6","type":"round_complete","round":2,"answered":2,"failed":0,"results":null,"step":false}');
INSERT INTO roundtable.events VALUES ('\x3f13029be650fe1928665bc4eb98b51178bacdd2c7f967d616ed778ee0380035', 12, 'exit', 1796040616450108, '{"sessionId":"e0b9181f869ae3883d26f7681d360aa8","timestamp":"2026-11-30T12:10:16.450108Z","seq":12,"previousHash":"e8ca3ebf21a849065824090b3bed90568e162c2c019d2318b0f58da3bdb01858","type":"exit","exit":{"shouldExit":true,"reason":"max_rounds","details":"2 of 2 planned rounds were held","figures":{"rounds":2,"maxRounds":2}},"usage":null}');
INSERT INTO roundtable.events VALUES ('\x3f13029be650fe1928665bc4eb98b51178bacdd2c7f967d616ed778ee0380035', 13, 'debate_complete', 1796040616450108, '{"sessionId":"e0b9181f869ae3883d26f7681d360aa8","timestamp":"2026-11-30T12:10:16.450108Z","seq":13,"previousHash":"1ca6a8f5d9fed269fa4507f245ec0368ce8d87513fb61a2546822569b6bca949","type":"debate_complete","status":"completed","totalRounds":2}');
INSERT INTO roundtable.events VALUES ('\x635fceefb888c6c6ba6e7589e0f6ad5144b9d54fb629b28c467afabf6dcc2d4a', 5, 'consensus', 1796040616762075, '{"sessionId":"c2eb3e2e9c751f90edaae586e269f4ee","timestamp":"2026-11-30T12:10:16.762075Z","seq":5,"previousHash":"136eafb61aef2d148d48981ca01f744c139105fe0a113c0028e11793accba410","type":"consensus","round":1,"consensus":{"agreementLevel":1.0,"agreementAtMost":1.0,"commonGround":["Tea"],"disagreementPoints":[],"summary":"All 2 answers say the same.","method":"declared","clusters":[{"theme":"Tea","agentIds":["ada","bo"],"summary":"Tea","answers":[0,1]}],"assigned":false,"groupthinkWarning":{"detected":false,"indicators":["all answers say the same"],"recommendation":""},"pairs":[],"keyPoints":{},"causes":[],"answers":2,"notCompared":[],"isLeadOpen":false,"abstained":[],"warnings":[]},"decision":{"rule":"plurality","parameters":{},"winners":["Tea"],"isTie":false,"passed":true,"isUnanimous":true,"quorumMet":true,"tied":[],"scores":{"Tea":2.0},"margins":{},"pairwise":{},"rounds":[],"cast":2,"voters":["ada","bo"],"abstained":[],"invalid":{},"mapping":{"Tea":"Tea"},"why":"Tea wins: 2 of 2 votes (100 %).","vote":null},"baseline":null,"independentAgreement":1.0,"independentAgreementReason":null,"usage":null}');
INSERT INTO roundtable.events VALUES ('\x635fceefb888c6c6ba6e7589e0f6ad5144b9d54fb629b28c467afabf6dcc2d4a', 6, 'round_complete', 1796040616762075, '{"sessionId":"c2eb3e2e9c751f90edaae586e269f4ee","timestamp":"2026-11-30T12:10:16.762075Z","seq":6,"previousHash":"bdaf5ec75edcddf24dcee47d81904c42dd776ecba7195134a701bb1819da0c13","type":"round_complete","round":1,"answered":2,"failed":0,"results":null,"step":false}');
INSERT INTO roundtable.events VALUES ('\x635fceefb888c6c6ba6e7589e0f6ad5144b9d54fb629b28c467afabf6dcc2d4a', 7, 'round_start', 1796040616781195, '{"sessionId":"c2eb3e2e9c751f90edaae586e269f4ee","timestamp":"2026-11-30T12:10:16.781195Z","seq":7,"previousHash":"f174cec6917178607783c7b7637e1db035c988058726c0daf737704096312523","type":"round_start","round":2,"agents":["ada","bo"],"focusQuestion":null,"contextResults":[],"goal":null}');
INSERT INTO roundtable.events VALUES ('\x78b218ab6346cb252bdb052b102c0f595e112039b87a9ac50e12ce847a4cafdf', 1, 'debate_start', 1796040617107536, '{"sessionId":"873e2efd9abacbe24be3120ced1c04d3","timestamp":"2026-11-30T12:10:17.107536Z","seq":1,"previousHash":"64940ec508fc5b0927819af8f203125a39c74366c517029f1d4485fcefb25f06","type":"debate_start","topic":"question-2: tea or coffee?","mode":"collaborative","agents":["ada","bo"],"rounds":2}');
INSERT INTO roundtable.events VALUES ('\x78b218ab6346cb252bdb052b102c0f595e112039b87a9ac50e12ce847a4cafdf', 2, 'round_start', 1796040617112525, '{"sessionId":"873e2efd9abacbe24be3120ced1c04d3","timestamp":"2026-11-30T12:10:17.112525Z","seq":2,"previousHash":"05e8fbdddbbee6beb62cfa24a8cd30c57206cf73b28d251a0d8d9612727f4858","type":"round_start","round":1,"agents":["ada","bo"],"focusQuestion":null,"contextResults":[],"goal":null}');
INSERT INTO roundtable.events VALUES ('\x635fceefb888c6c6ba6e7589e0f6ad5144b9d54fb629b28c467afabf6dcc2d4a', 1, 'debate_start', 1796040616666639, '{"sessionId":"c2eb3e2e9c751f90edaae586e269f4ee","timestamp":"2026-11-30T12:10:16.666639Z","seq":1,"previousHash":"c631254b598fc9c0f19f43eef6802fd314885582680b16f7f6390e30a9015e0b","type":"debate_start","topic":"question-1: tea or coffee?","mode":"collaborative","agents":["ada","bo"],"rounds":2}');
INSERT INTO roundtable.events VALUES ('\x635fceefb888c6c6ba6e7589e0f6ad5144b9d54fb629b28c467afabf6dcc2d4a', 2, 'round_start', 1796040616713038, '{"sessionId":"c2eb3e2e9c751f90edaae586e269f4ee","timestamp":"2026-11-30T12:10:16.713038Z","seq":2,"previousHash":"ff8704fd9f18e7cc98e88cbfe86bf367d12c7a02887c1b91a8c7361c75c5e6c4","type":"round_start","round":1,"agents":["ada","bo"],"focusQuestion":null,"contextResults":[],"goal":null}');
INSERT INTO roundtable.events VALUES ('\x635fceefb888c6c6ba6e7589e0f6ad5144b9d54fb629b28c467afabf6dcc2d4a', 3, 'agent_complete', 1796040616738182, '{"sessionId":"c2eb3e2e9c751f90edaae586e269f4ee","timestamp":"2026-11-30T12:10:16.738182Z","seq":3,"previousHash":"955f03bc099955d18b0cce2f561c580f400e3f28253f158e9786a06bf1251210","type":"agent_complete","turn":{"round":1,"stage":"positions","slot":0,"attempt":1,"agentId":"ada","agentName":"Ada","provider":"scripted","model":"x","role":"participant","decides":false,"durationS":0.0009154370000032941,"timestamp":"2026-11-30T12:10:16.738182Z","outcome":"answered","result":{"answer":{"kind":"position","agentId":"ada","agentName":"Ada","position":"Tea","reasoning":"It keeps.","confidence":0.5,"stance":null,"choice":null,"bottomLine":null,"compared":[],"claims":[],"value":null,"citations":[],"toolCalls":[],"images":[],"relatedQuestions":[],"roleViolation":null,"timestamp":"2026-11-30T12:10:16.738116Z"},"usage":{"inputTokens":623,"outputTokens":12,"cacheReadTokens":0,"cacheWriteTokens":0,"longCacheWriteTokens":0,"reasoningTokens":0,"searches":0,"calls":1,"unreportedCalls":0,"costUsd":null,"partialCostUsd":null,"savedUsd":null},"usageByCall":[{"inputTokens":623,"outputTokens":12,"cacheReadTokens":0,"cacheWriteTokens":0,"longCacheWriteTokens":0,"reasoningTokens":0,"searches":0,"calls":1,"unreportedCalls":0,"costUsd":null,"partialCostUsd":null,"savedUsd":null}],"provider":"scripted","model":"scripted","finishReason":"stop","truncated":false,"repaired":false,"warnings":["no usable confidence was given; 0.5 is assumed"],"requestIds":[],"promptVersion":"4 collaborative/participant/first@2-en","contextRequests":[],"toolCalls":[]},"independent":true},"agent":"ada","round":1,"response":null,"toolCalls":null,"steps":null,"finishReason":null}');
INSERT INTO roundtable.events VALUES ('\x635fceefb888c6c6ba6e7589e0f6ad5144b9d54fb629b28c467afabf6dcc2d4a', 4, 'agent_complete', 1796040616738465, '{"sessionId":"c2eb3e2e9c751f90edaae586e269f4ee","timestamp":"2026-11-30T12:10:16.738465Z","seq":4,"previousHash":"255928a53ea6682d5f9c379d9351ebd305a896caabb97b1536c2e901d61047b1","type":"agent_complete","turn":{"round":1,"stage":"positions","slot":1,"attempt":1,"agentId":"bo","agentName":"Bo","provider":"scripted","model":"x","role":"participant","decides":false,"durationS":0.0008028300001114985,"timestamp":"2026-11-30T12:10:16.738465Z","outcome":"answered","result":{"answer":{"kind":"position","agentId":"bo","agentName":"Bo","position":"Tea","reasoning":"It keeps.","confidence":0.5,"stance":null,"choice":null,"bottomLine":null,"compared":[],"claims":[],"value":null,"citations":[],"toolCalls":[],"images":[],"relatedQuestions":[],"roleViolation":null,"timestamp":"2026-11-30T12:10:16.738432Z"},"usage":{"inputTokens":623,"outputTokens":12,"cacheReadTokens":0,"cacheWriteTokens":0,"longCacheWriteTokens":0,"reasoningTokens":0,"searches":0,"calls":1,"unreportedCalls":0,"costUsd":null,"partialCostUsd":null,"savedUsd":null},"usageByCall":[{"inputTokens":623,"outputTokens":12,"cacheReadTokens":0,"cacheWriteTokens":0,"longCacheWriteTokens":0,"reasoningTokens":0,"searches":0,"calls":1,"unreportedCalls":0,"costUsd":null,"partialCostUsd":null,"savedUsd":null}],"provider":"scripted","model":"scripted","finishReason":"stop","truncated":false,"repaired":false,"warnings":["no usable confidence was given; 0.5 is assumed"],"requestIds":[],"promptVersion":"4 collaborative/participant/first@2-en","contextRequests":[],"toolCalls":[]},"independent":true},"agent":"bo","round":1,"response":null,"toolCalls":null,"steps":null,"finishReason":null}');
INSERT INTO roundtable.events VALUES ('\x635fceefb888c6c6ba6e7589e0f6ad5144b9d54fb629b28c467afabf6dcc2d4a', 8, 'agent_complete', 1796040616810643, '{"sessionId":"c2eb3e2e9c751f90edaae586e269f4ee","timestamp":"2026-11-30T12:10:16.810643Z","seq":8,"previousHash":"554a98c9635d3fe78de95e609ad8e2b2eb643b79a8c939fdb1077513b0f3827b","type":"agent_complete","turn":{"round":2,"stage":"positions","slot":0,"attempt":1,"agentId":"ada","agentName":"Ada","provider":"scripted","model":"x","role":"participant","decides":false,"durationS":0.001360356000077445,"timestamp":"2026-11-30T12:10:16.810643Z","outcome":"answered","result":{"answer":{"kind":"position","agentId":"ada","agentName":"Ada","position":"Tea","reasoning":"It keeps.","confidence":0.5,"stance":null,"choice":null,"bottomLine":null,"compared":[],"claims":[],"value":null,"citations":[],"toolCalls":[],"images":[],"relatedQuestions":[],"roleViolation":null,"timestamp":"2026-11-30T12:10:16.810584Z"},"usage":{"inputTokens":839,"outputTokens":12,"cacheReadTokens":0,"cacheWriteTokens":0,"longCacheWriteTokens":0,"reasoningTokens":0,"searches":0,"calls":1,"unreportedCalls":0,"costUsd":null,"partialCostUsd":null,"savedUsd":null},"usageByCall":[{"inputTokens":839,"outputTokens":12,"cacheReadTokens":0,"cacheWriteTokens":0,"longCacheWriteTokens":0,"reasoningTokens":0,"searches":0,"calls":1,"unreportedCalls":0,"costUsd":null,"partialCostUsd":null,"savedUsd":null}],"provider":"scripted","model":"scripted","finishReason":"stop","truncated":false,"repaired":false,"warnings":["no usable confidence was given; 0.5 is assumed"],"requestIds":[],"promptVersion":"4 collaborative/participant/later@2-en","contextRequests":[],"toolCalls":[]},"independent":false},"agent":"ada","round":2,"response":null,"toolCalls":null,"steps":null,"finishReason":null}');
INSERT INTO roundtable.events VALUES ('\x635fceefb888c6c6ba6e7589e0f6ad5144b9d54fb629b28c467afabf6dcc2d4a', 9, 'agent_complete', 1796040616810966, '{"sessionId":"c2eb3e2e9c751f90edaae586e269f4ee","timestamp":"2026-11-30T12:10:16.810966Z","seq":9,"previousHash":"085964fdc2d0cc1465895482873209b9fe84727668a3ad5b9d50d5c7ce43a196","type":"agent_complete","turn":{"round":2,"stage":"positions","slot":1,"attempt":1,"agentId":"bo","agentName":"Bo","provider":"scripted","model":"x","role":"participant","decides":false,"durationS":0.0012303940000037983,"timestamp":"2026-11-30T12:10:16.810966Z","outcome":"answered","result":{"answer":{"kind":"position","agentId":"bo","agentName":"Bo","position":"Tea","reasoning":"It keeps.","confidence":0.5,"stance":null,"choice":null,"bottomLine":null,"compared":[],"claims":[],"value":null,"citations":[],"toolCalls":[],"images":[],"relatedQuestions":[],"roleViolation":null,"timestamp":"2026-11-30T12:10:16.810924Z"},"usage":{"inputTokens":839,"outputTokens":12,"cacheReadTokens":0,"cacheWriteTokens":0,"longCacheWriteTokens":0,"reasoningTokens":0,"searches":0,"calls":1,"unreportedCalls":0,"costUsd":null,"partialCostUsd":null,"savedUsd":null},"usageByCall":[{"inputTokens":839,"outputTokens":12,"cacheReadTokens":0,"cacheWriteTokens":0,"longCacheWriteTokens":0,"reasoningTokens":0,"searches":0,"calls":1,"unreportedCalls":0,"costUsd":null,"partialCostUsd":null,"savedUsd":null}],"provider":"scripted","model":"scripted","finishReason":"stop","truncated":false,"repaired":false,"warnings":["no usable confidence was given; 0.5 is assumed"],"requestIds":[],"promptVersion":"4 collaborative/participant/later@2-en","contextRequests":[],"toolCalls":[]},"independent":false},"agent":"bo","round":2,"response":null,"toolCalls":null,"steps":null,"finishReason":null}');
INSERT INTO roundtable.events VALUES ('\x635fceefb888c6c6ba6e7589e0f6ad5144b9d54fb629b28c467afabf6dcc2d4a', 10, 'consensus', 1796040616826581, '{"sessionId":"c2eb3e2e9c751f90edaae586e269f4ee","timestamp":"2026-11-30T12:10:16.826581Z","seq":10,"previousHash":"851a5f543bd01c0d8844cf08330d6c5110242e0b66e1cbf3b0d98dd4f804d15f","type":"consensus","round":2,"consensus":{"agreementLevel":1.0,"agreementAtMost":1.0,"commonGround":["Tea"],"disagreementPoints":[],"summary":"All 2 answers say the same.","method":"declared","clusters":[{"theme":"Tea","agentIds":["ada","bo"],"summary":"Tea","answers":[0,1]}],"assigned":false,"groupthinkWarning":{"detected":false,"indicators":["all answers say the same"],"recommendation":""},"pairs":[],"keyPoints":{},"causes":[],"answers":2,"notCompared":[],"isLeadOpen":false,"abstained":[],"warnings":[]},"decision":{"rule":"plurality","parameters":{},"winners":["Tea"],"isTie":false,"passed":true,"isUnanimous":true,"quorumMet":true,"tied":[],"scores":{"Tea":2.0},"margins":{},"pairwise":{},"rounds":[],"cast":2,"voters":["ada","bo"],"abstained":[],"invalid":{},"mapping":{"Tea":"Tea"},"why":"Tea wins: 2 of 2 votes (100 %).","vote":null},"baseline":null,"independentAgreement":null,"independentAgreementReason":null,"usage":null}');
INSERT INTO roundtable.events VALUES ('\x635fceefb888c6c6ba6e7589e0f6ad5144b9d54fb629b28c467afabf6dcc2d4a', 11, 'round_complete', 1796040616826581, '{"sessionId":"c2eb3e2e9c751f90edaae586e269f4ee","timestamp":"2026-11-30T12:10:16.826581Z","seq":11,"previousHash":"bbe2947a689d3521da949137fcb0c41e52df8ce88bbaa3f49f51b631285a86c7","type":"round_complete","round":2,"answered":2,"failed":0,"results":null,"step":false}');
INSERT INTO roundtable.events VALUES ('\x635fceefb888c6c6ba6e7589e0f6ad5144b9d54fb629b28c467afabf6dcc2d4a', 12, 'exit', 1796040616826581, '{"sessionId":"c2eb3e2e9c751f90edaae586e269f4ee","timestamp":"2026-11-30T12:10:16.826581Z","seq":12,"previousHash":"c5c38c8d77173aab8ff2971bb9b5abdf7d956b1811fb39b7268568754e168ba4","type":"exit","exit":{"shouldExit":true,"reason":"max_rounds","details":"2 of 2 planned rounds were held","figures":{"rounds":2,"maxRounds":2}},"usage":null}');
INSERT INTO roundtable.events VALUES ('\x635fceefb888c6c6ba6e7589e0f6ad5144b9d54fb629b28c467afabf6dcc2d4a', 13, 'debate_complete', 1796040616826581, '{"sessionId":"c2eb3e2e9c751f90edaae586e269f4ee","timestamp":"2026-11-30T12:10:16.826581Z","seq":13,"previousHash":"4f00424b21a390b59f37d09f1a6f72cf264fd1450b78d241c597e81632a24ccc","type":"debate_complete","status":"completed","totalRounds":2}');


--
-- Data for Name: key_values; Type: TABLE DATA; Schema: roundtable; Owner: -
--

INSERT INTO roundtable.key_values VALUES ('\xf265d0083cfc1a2c3b52c6452adff31f1731f4dcd4d3745c9e43466aa44b7b6a', '\xb0e6d8f104d4be36fe675ef18a2974546f0d1d2d340be99895a7bb968bd31f1c', 'fleet/default/jobs/drinks', '{"fleet":"default","name":"drinks","debates":4,"digest":"8336e65f7e441338980606671fedb67a9fd988e8063b49b4fa1005f5816b0d72","nonce":"8b014bc85c7f9bf1987d03aa41f75d6d","budget":null,"submittedAt":"2026-11-30T12:10:10.225359Z","retriedAt":null,"agents":["scripted:x","scripted:x"],"trace":"00-8b014bc85c7f9bf1987d03aa41f75d6d-8ebe9ef9411168e1-00"}', NULL);
INSERT INTO roundtable.key_values VALUES ('\xf265d0083cfc1a2c3b52c6452adff31f1731f4dcd4d3745c9e43466aa44b7b6a', '\x5e0b8b03571edcea66ac38bec409e809b0e56389d69f661ca240fa600dc49562', 'fleet/default/workers/88ebb791269c46b2a16c6da97de4f295', '{"name":"88ebb791269c46b2a16c6da97de4f295","host":"vm","bootId":"feabc659-2521-4ac1-82fc-9b43a399d115","pid":30336,"processStart":"153431"}', 1796040630280553);
INSERT INTO roundtable.key_values VALUES ('\xf265d0083cfc1a2c3b52c6452adff31f1731f4dcd4d3745c9e43466aa44b7b6a', '\xc04bc172a4a1b2820c5f791c28f3fa36aafaaed4febd3e5a9b18369b8d3a52ed', 'fleet/default/accounts/drinks', '{"spent":{"inputTokens":5848,"outputTokens":96,"calls":8},"reserves":{"873e2efd9abacbe24be3120ced1c04d3":{}}}', NULL);


--
-- Data for Name: leases; Type: TABLE DATA; Schema: roundtable; Owner: -
--

INSERT INTO roundtable.leases VALUES ('\x3f13029be650fe1928665bc4eb98b51178bacdd2c7f967d616ed778ee0380035', 1, NULL, 1796040616481304);
INSERT INTO roundtable.leases VALUES ('\x635fceefb888c6c6ba6e7589e0f6ad5144b9d54fb629b28c467afabf6dcc2d4a', 2, NULL, 1796040616864952);
INSERT INTO roundtable.leases VALUES ('\x78b218ab6346cb252bdb052b102c0f595e112039b87a9ac50e12ce847a4cafdf', 3, '{"name":"a9be4f31a96e7817870c0e800b157541","host":"vm","bootId":"feabc659-2521-4ac1-82fc-9b43a399d115","pid":30336,"processStart":"153431"}', 1796040632105471);


--
-- Data for Name: positions; Type: TABLE DATA; Schema: roundtable; Owner: -
--

INSERT INTO roundtable.positions VALUES ('\x3f13029be650fe1928665bc4eb98b51178bacdd2c7f967d616ed778ee0380035', 3, '''it'' ''keeps'' ''tea''');
INSERT INTO roundtable.positions VALUES ('\x3f13029be650fe1928665bc4eb98b51178bacdd2c7f967d616ed778ee0380035', 4, '''it'' ''keeps'' ''tea''');
INSERT INTO roundtable.positions VALUES ('\x3f13029be650fe1928665bc4eb98b51178bacdd2c7f967d616ed778ee0380035', 8, '''it'' ''keeps'' ''tea''');
INSERT INTO roundtable.positions VALUES ('\x3f13029be650fe1928665bc4eb98b51178bacdd2c7f967d616ed778ee0380035', 9, '''it'' ''keeps'' ''tea''');
INSERT INTO roundtable.positions VALUES ('\x635fceefb888c6c6ba6e7589e0f6ad5144b9d54fb629b28c467afabf6dcc2d4a', 3, '''it'' ''keeps'' ''tea''');
INSERT INTO roundtable.positions VALUES ('\x635fceefb888c6c6ba6e7589e0f6ad5144b9d54fb629b28c467afabf6dcc2d4a', 4, '''it'' ''keeps'' ''tea''');
INSERT INTO roundtable.positions VALUES ('\x635fceefb888c6c6ba6e7589e0f6ad5144b9d54fb629b28c467afabf6dcc2d4a', 8, '''it'' ''keeps'' ''tea''');
INSERT INTO roundtable.positions VALUES ('\x635fceefb888c6c6ba6e7589e0f6ad5144b9d54fb629b28c467afabf6dcc2d4a', 9, '''it'' ''keeps'' ''tea''');


--
-- Data for Name: schema_version; Type: TABLE DATA; Schema: roundtable; Owner: -
--

INSERT INTO roundtable.schema_version VALUES (2);


--
-- Data for Name: sessions; Type: TABLE DATA; Schema: roundtable; Owner: -
--

INSERT INTO roundtable.sessions VALUES ('\x3f13029be650fe1928665bc4eb98b51178bacdd2c7f967d616ed778ee0380035', '\xf265d0083cfc1a2c3b52c6452adff31f1731f4dcd4d3745c9e43466aa44b7b6a', 'default', 'e0b9181f869ae3883d26f7681d360aa8', '{"id":"e0b9181f869ae3883d26f7681d360aa8","tenant":"default","config":{"topic":"question-0: tea or coffee?","mode":"collaborative","agents":["ada","bo"],"rounds":2,"focusQuestion":null,"perspectives":[],"exitOnConsensus":null,"options":null,"attachments":[],"decide":"plurality","vote":false,"exit":null,"budget":null,"quorum":null,"baseline":false,"seats":{},"synthesize":false,"claims":false,"answerSchema":null,"skipRoundsWhen":null,"seed":0,"team":null,"metadata":{}},"agents":[{"id":"ada","name":"Ada","provider":"scripted","model":"x","systemPrompt":null,"temperature":0.7,"maxTokens":4096,"persona":null,"retry":null,"maxToolRounds":10,"search":null},{"id":"bo","name":"Bo","provider":"scripted","model":"x","systemPrompt":null,"temperature":0.7,"maxTokens":4096,"persona":null,"retry":null,"maxToolRounds":10,"search":null}],"createdAt":"2026-11-30T12:10:15.738978Z","promptVersion":"4","forkedFrom":null,"callerObjects":{"agents":["ada","bo"],"mode":false,"tools":[],"seats":[],"analyzer":null,"approval":false},"plugins":[],"imported":false,"contents":{},"schemaVersion":3}', 'question-0: tea or coffee?', 'question-0: tea or coffee?', 'collaborative', '["ada", "bo"]', '{}', 'completed', 2, 2, 4, 13, 1796040615738978, 1796040616450108, '{"\\xff23025159073e453ab2bd88b54a3d70","\\xf3328c9604a0cfcd7053396d14912669","\\xefdf7bdb0c38327b9fd748c48c9ff951","\\x1b20e851dfee89eb296fe38d2d4ce359","\\x93b5046b734aba7e5a54407071a542bb","\\x16e0db127d8e6ce1dcb119bf40846c44","\\x01f50d3a583e56eb152abc4b0c6a128d","\\x1cfc6a9553187b4a7803131b3f5a1330"}', '{13,9,7,6,4,2,1,0}');
INSERT INTO roundtable.sessions VALUES ('\x635fceefb888c6c6ba6e7589e0f6ad5144b9d54fb629b28c467afabf6dcc2d4a', '\xf265d0083cfc1a2c3b52c6452adff31f1731f4dcd4d3745c9e43466aa44b7b6a', 'default', 'c2eb3e2e9c751f90edaae586e269f4ee', '{"id":"c2eb3e2e9c751f90edaae586e269f4ee","tenant":"default","config":{"topic":"question-1: tea or coffee?","mode":"collaborative","agents":["ada","bo"],"rounds":2,"focusQuestion":null,"perspectives":[],"exitOnConsensus":null,"options":null,"attachments":[],"decide":"plurality","vote":false,"exit":null,"budget":null,"quorum":null,"baseline":false,"seats":{},"synthesize":false,"claims":false,"answerSchema":null,"skipRoundsWhen":null,"seed":0,"team":null,"metadata":{}},"agents":[{"id":"ada","name":"Ada","provider":"scripted","model":"x","systemPrompt":null,"temperature":0.7,"maxTokens":4096,"persona":null,"retry":null,"maxToolRounds":10,"search":null},{"id":"bo","name":"Bo","provider":"scripted","model":"x","systemPrompt":null,"temperature":0.7,"maxTokens":4096,"persona":null,"retry":null,"maxToolRounds":10,"search":null}],"createdAt":"2026-11-30T12:10:16.630876Z","promptVersion":"4","forkedFrom":null,"callerObjects":{"agents":["ada","bo"],"mode":false,"tools":[],"seats":[],"analyzer":null,"approval":false},"plugins":[],"imported":false,"contents":{},"schemaVersion":3}', 'question-1: tea or coffee?', 'question-1: tea or coffee?', 'collaborative', '["ada", "bo"]', '{}', 'completed', 2, 2, 4, 13, 1796040616630876, 1796040616826581, '{"\\x7c87d7f595cac447c739fe0f7e16b32f","\\x214d0159cdcc98b9ae1fe8469bbe6723","\\x26e7d375bb52f6c34d143455d5d34035","\\x2d598da05570f7ea28e2a997cbfcd269","\\x5d85ae521947b72cf3ad1db2675a2eb6","\\x5220841e56d02d91039093655d03b273","\\xefea25bc9d5034cd992d41f653286688","\\xa1218395159862df81c9278ae2ffffb1"}', '{13,9,7,6,4,2,1,0}');
INSERT INTO roundtable.sessions VALUES ('\x78b218ab6346cb252bdb052b102c0f595e112039b87a9ac50e12ce847a4cafdf', '\xf265d0083cfc1a2c3b52c6452adff31f1731f4dcd4d3745c9e43466aa44b7b6a', 'default', '873e2efd9abacbe24be3120ced1c04d3', '{"id":"873e2efd9abacbe24be3120ced1c04d3","tenant":"default","config":{"topic":"question-2: tea or coffee?","mode":"collaborative","agents":["ada","bo"],"rounds":2,"focusQuestion":null,"perspectives":[],"exitOnConsensus":null,"options":null,"attachments":[],"decide":"plurality","vote":false,"exit":null,"budget":null,"quorum":null,"baseline":false,"seats":{},"synthesize":false,"claims":false,"answerSchema":null,"skipRoundsWhen":null,"seed":0,"team":null,"metadata":{}},"agents":[{"id":"ada","name":"Ada","provider":"scripted","model":"x","systemPrompt":null,"temperature":0.7,"maxTokens":4096,"persona":null,"retry":null,"maxToolRounds":10,"search":null},{"id":"bo","name":"Bo","provider":"scripted","model":"x","systemPrompt":null,"temperature":0.7,"maxTokens":4096,"persona":null,"retry":null,"maxToolRounds":10,"search":null}],"createdAt":"2026-11-30T12:10:17.097840Z","promptVersion":"4","forkedFrom":null,"callerObjects":{"agents":["ada","bo"],"mode":false,"tools":[],"seats":[],"analyzer":null,"approval":false},"plugins":[],"imported":false,"contents":{},"schemaVersion":3}', 'question-2: tea or coffee?', 'question-2: tea or coffee?', 'collaborative', '["ada", "bo"]', '{}', 'active', 1, 2, 0, 2, 1796040617097840, 1796040617112525, '{"\\x5668ed921e1b1ad86132888cbb4620e6","\\x5c690b15c27cecab4d232b3e10558b6b","\\x64c0a0bd0755deae7f3f65c0893acee8"}', '{2,1,0}');


--
-- Data for Name: tokens; Type: TABLE DATA; Schema: roundtable; Owner: -
--

INSERT INTO roundtable.tokens VALUES ('\xf265d0083cfc1a2c3b52c6452adff31f1731f4dcd4d3745c9e43466aa44b7b6a', 3);


--
-- Data for Name: turns; Type: TABLE DATA; Schema: roundtable; Owner: -
--

INSERT INTO roundtable.turns VALUES ('\x3f13029be650fe1928665bc4eb98b51178bacdd2c7f967d616ed778ee0380035', 1, '\x5cc056cc981c55e83aff5e27f4ed7c1712e0628e6bf2d41d9bb47e72aaf650f3', 0, 1, 3);
INSERT INTO roundtable.turns VALUES ('\x3f13029be650fe1928665bc4eb98b51178bacdd2c7f967d616ed778ee0380035', 1, '\x5cc056cc981c55e83aff5e27f4ed7c1712e0628e6bf2d41d9bb47e72aaf650f3', 1, 1, 4);
INSERT INTO roundtable.turns VALUES ('\x3f13029be650fe1928665bc4eb98b51178bacdd2c7f967d616ed778ee0380035', 2, '\x5cc056cc981c55e83aff5e27f4ed7c1712e0628e6bf2d41d9bb47e72aaf650f3', 0, 1, 8);
INSERT INTO roundtable.turns VALUES ('\x3f13029be650fe1928665bc4eb98b51178bacdd2c7f967d616ed778ee0380035', 2, '\x5cc056cc981c55e83aff5e27f4ed7c1712e0628e6bf2d41d9bb47e72aaf650f3', 1, 1, 9);
INSERT INTO roundtable.turns VALUES ('\x635fceefb888c6c6ba6e7589e0f6ad5144b9d54fb629b28c467afabf6dcc2d4a', 1, '\x5cc056cc981c55e83aff5e27f4ed7c1712e0628e6bf2d41d9bb47e72aaf650f3', 0, 1, 3);
INSERT INTO roundtable.turns VALUES ('\x635fceefb888c6c6ba6e7589e0f6ad5144b9d54fb629b28c467afabf6dcc2d4a', 1, '\x5cc056cc981c55e83aff5e27f4ed7c1712e0628e6bf2d41d9bb47e72aaf650f3', 1, 1, 4);
INSERT INTO roundtable.turns VALUES ('\x635fceefb888c6c6ba6e7589e0f6ad5144b9d54fb629b28c467afabf6dcc2d4a', 2, '\x5cc056cc981c55e83aff5e27f4ed7c1712e0628e6bf2d41d9bb47e72aaf650f3', 0, 1, 8);
INSERT INTO roundtable.turns VALUES ('\x635fceefb888c6c6ba6e7589e0f6ad5144b9d54fb629b28c467afabf6dcc2d4a', 2, '\x5cc056cc981c55e83aff5e27f4ed7c1712e0628e6bf2d41d9bb47e72aaf650f3', 1, 1, 9);


--
-- Data for Name: application_versions; Type: TABLE DATA; Schema: roundtable_fleet; Owner: -
--

INSERT INTO roundtable_fleet.application_versions VALUES ('a9a9a574-a82e-4c71-8958-567a3a232ccf', '3-default', 1796040615265, 1796040615265, 'roundtable-default');


--
-- Data for Name: dbos_migrations; Type: TABLE DATA; Schema: roundtable_fleet; Owner: -
--

INSERT INTO roundtable_fleet.dbos_migrations VALUES (125);


--
-- Data for Name: event_dispatch_kv; Type: TABLE DATA; Schema: roundtable_fleet; Owner: -
--



--
-- Data for Name: notifications; Type: TABLE DATA; Schema: roundtable_fleet; Owner: -
--



--
-- Data for Name: operation_outputs; Type: TABLE DATA; Schema: roundtable_fleet; Owner: -
--



--
-- Data for Name: queues; Type: TABLE DATA; Schema: roundtable_fleet; Owner: -
--

INSERT INTO roundtable_fleet.queues VALUES ('2c4fba91-dd8c-4090-aae5-6d94694e7596', 'debates-default', NULL, 1, NULL, NULL, true, false, 0.2, 1796040615057, 1796040615053, 'roundtable-default', NULL, NULL, NULL, NULL);
INSERT INTO roundtable_fleet.queues VALUES ('243633ea-7e95-486a-b3dc-9423413a3144', 'debates-default@93728867b4436c5a', NULL, 1, NULL, NULL, true, false, 0.2, 1796040615122, 1796040615121, 'roundtable-default', NULL, NULL, NULL, NULL);


--
-- Data for Name: streams; Type: TABLE DATA; Schema: roundtable_fleet; Owner: -
--



--
-- Data for Name: workflow_events; Type: TABLE DATA; Schema: roundtable_fleet; Owner: -
--



--
-- Data for Name: workflow_events_history; Type: TABLE DATA; Schema: roundtable_fleet; Owner: -
--



--
-- Data for Name: workflow_input; Type: TABLE DATA; Schema: roundtable_fleet; Owner: -
--

INSERT INTO roundtable_fleet.workflow_input VALUES ('default.drinks.00000001', '{"namedArgs":{},"positionalArgs":["e0b9181f869ae3883d26f7681d360aa8","{\"rounds\":2,\"topic\":\"question-0: tea or coffee?\"}"]}', 1796040610232);
INSERT INTO roundtable_fleet.workflow_input VALUES ('default.drinks.00000002', '{"namedArgs":{},"positionalArgs":["c2eb3e2e9c751f90edaae586e269f4ee","{\"rounds\":2,\"topic\":\"question-1: tea or coffee?\"}"]}', 1796040610232);
INSERT INTO roundtable_fleet.workflow_input VALUES ('default.drinks.00000003', '{"namedArgs":{},"positionalArgs":["873e2efd9abacbe24be3120ced1c04d3","{\"rounds\":2,\"topic\":\"question-2: tea or coffee?\"}"]}', 1796040610232);
INSERT INTO roundtable_fleet.workflow_input VALUES ('default.drinks.00000004', '{"namedArgs":{},"positionalArgs":["e6076a969ff7b83cc1aaca5508277539","{\"rounds\":2,\"topic\":\"question-3: tea or coffee?\"}"]}', 1796040610232);


--
-- Data for Name: workflow_output; Type: TABLE DATA; Schema: roundtable_fleet; Owner: -
--

INSERT INTO roundtable_fleet.workflow_output VALUES ('default.drinks.00000001', 'null', NULL, 1796040616528);
INSERT INTO roundtable_fleet.workflow_output VALUES ('default.drinks.00000002', 'null', NULL, 1796040616905);


--
-- Data for Name: workflow_schedules; Type: TABLE DATA; Schema: roundtable_fleet; Owner: -
--



--
-- Data for Name: workflow_status; Type: TABLE DATA; Schema: roundtable_fleet; Owner: -
--

INSERT INTO roundtable_fleet.workflow_status VALUES ('default.drinks.00000004', 'ENQUEUED', 'roundtable.hold_debate', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1796040610232, 1796040610232, '3-default', NULL, NULL, NULL, 0, 'debates-default', NULL, NULL, NULL, NULL, NULL, 1000, NULL, NULL, NULL, NULL, 'portable_json', NULL, false, false, NULL, 'null', NULL, NULL, false, 'roundtable-default', '5db529fe-18ad-4a12-a638-f57db6b738de');
INSERT INTO roundtable_fleet.workflow_status VALUES ('default.drinks.00000001', 'SUCCESS', 'roundtable.hold_debate', NULL, NULL, NULL, NULL, NULL, NULL, '88ebb791269c46b2a16c6da97de4f295', 1796040610232, 1796040616528, '3-default', NULL, NULL, NULL, 1, 'debates-default', NULL, NULL, NULL, 1796040615547, NULL, 1000, NULL, NULL, NULL, NULL, 'portable_json', NULL, false, false, 1796040616528, 'null', NULL, NULL, false, 'roundtable-default', 'f104788a-4b3e-40b2-b0ed-58b1adb07d80');
INSERT INTO roundtable_fleet.workflow_status VALUES ('default.drinks.00000002', 'SUCCESS', 'roundtable.hold_debate', NULL, NULL, NULL, NULL, NULL, NULL, '88ebb791269c46b2a16c6da97de4f295', 1796040610232, 1796040616905, '3-default', NULL, NULL, NULL, 1, 'debates-default', NULL, NULL, NULL, 1796040616555, NULL, 1000, NULL, NULL, NULL, NULL, 'portable_json', NULL, false, false, 1796040616905, 'null', NULL, NULL, false, 'roundtable-default', '103927aa-3590-4dff-9f03-a527130752d8');
INSERT INTO roundtable_fleet.workflow_status VALUES ('default.drinks.00000003', 'PENDING', 'roundtable.hold_debate', NULL, NULL, NULL, NULL, NULL, NULL, '88ebb791269c46b2a16c6da97de4f295', 1796040610232, 1796040617025, '3-default', NULL, NULL, NULL, 1, 'debates-default', NULL, NULL, NULL, 1796040617025, NULL, 1000, NULL, NULL, '523267ce-fd1d-47aa-8fb0-bd88fa78bfd8', NULL, 'portable_json', NULL, false, false, NULL, 'null', NULL, NULL, false, 'roundtable-default', 'f361eeda-aa6e-4ddc-b4ba-5134b6cab456');


--
-- Name: events events_pkey; Type: CONSTRAINT; Schema: roundtable; Owner: -
--

ALTER TABLE ONLY roundtable.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (key, seq);


--
-- Name: key_values key_values_pkey; Type: CONSTRAINT; Schema: roundtable; Owner: -
--

ALTER TABLE ONLY roundtable.key_values
    ADD CONSTRAINT key_values_pkey PRIMARY KEY (tenant_key, name_key);


--
-- Name: leases leases_pkey; Type: CONSTRAINT; Schema: roundtable; Owner: -
--

ALTER TABLE ONLY roundtable.leases
    ADD CONSTRAINT leases_pkey PRIMARY KEY (key);


--
-- Name: positions positions_pkey; Type: CONSTRAINT; Schema: roundtable; Owner: -
--

ALTER TABLE ONLY roundtable.positions
    ADD CONSTRAINT positions_pkey PRIMARY KEY (key, seq);


--
-- Name: sessions sessions_pkey; Type: CONSTRAINT; Schema: roundtable; Owner: -
--

ALTER TABLE ONLY roundtable.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (key);


--
-- Name: tokens tokens_pkey; Type: CONSTRAINT; Schema: roundtable; Owner: -
--

ALTER TABLE ONLY roundtable.tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (tenant_key);


--
-- Name: turns turns_pkey; Type: CONSTRAINT; Schema: roundtable; Owner: -
--

ALTER TABLE ONLY roundtable.turns
    ADD CONSTRAINT turns_pkey PRIMARY KEY (key, round, stage_key, slot, attempt);


--
-- Name: application_versions application_versions_pkey; Type: CONSTRAINT; Schema: roundtable_fleet; Owner: -
--

ALTER TABLE ONLY roundtable_fleet.application_versions
    ADD CONSTRAINT application_versions_pkey PRIMARY KEY (version_id);


--
-- Name: application_versions application_versions_version_name_key; Type: CONSTRAINT; Schema: roundtable_fleet; Owner: -
--

ALTER TABLE ONLY roundtable_fleet.application_versions
    ADD CONSTRAINT application_versions_version_name_key UNIQUE (version_name);


--
-- Name: dbos_migrations dbos_migrations_pkey; Type: CONSTRAINT; Schema: roundtable_fleet; Owner: -
--

ALTER TABLE ONLY roundtable_fleet.dbos_migrations
    ADD CONSTRAINT dbos_migrations_pkey PRIMARY KEY (version);


--
-- Name: event_dispatch_kv event_dispatch_kv_pkey; Type: CONSTRAINT; Schema: roundtable_fleet; Owner: -
--

ALTER TABLE ONLY roundtable_fleet.event_dispatch_kv
    ADD CONSTRAINT event_dispatch_kv_pkey PRIMARY KEY (service_name, workflow_fn_name, key);


--
-- Name: notifications notifications_pkey; Type: CONSTRAINT; Schema: roundtable_fleet; Owner: -
--

ALTER TABLE ONLY roundtable_fleet.notifications
    ADD CONSTRAINT notifications_pkey PRIMARY KEY (message_uuid);


--
-- Name: operation_outputs operation_outputs_pkey; Type: CONSTRAINT; Schema: roundtable_fleet; Owner: -
--

ALTER TABLE ONLY roundtable_fleet.operation_outputs
    ADD CONSTRAINT operation_outputs_pkey PRIMARY KEY (workflow_uuid, function_id);


--
-- Name: queues queues_name_key; Type: CONSTRAINT; Schema: roundtable_fleet; Owner: -
--

ALTER TABLE ONLY roundtable_fleet.queues
    ADD CONSTRAINT queues_name_key UNIQUE (name);


--
-- Name: queues queues_pkey; Type: CONSTRAINT; Schema: roundtable_fleet; Owner: -
--

ALTER TABLE ONLY roundtable_fleet.queues
    ADD CONSTRAINT queues_pkey PRIMARY KEY (queue_id);


--
-- Name: streams streams_pkey; Type: CONSTRAINT; Schema: roundtable_fleet; Owner: -
--

ALTER TABLE ONLY roundtable_fleet.streams
    ADD CONSTRAINT streams_pkey PRIMARY KEY (workflow_uuid, key, "offset");


--
-- Name: workflow_events_history workflow_events_history_pkey; Type: CONSTRAINT; Schema: roundtable_fleet; Owner: -
--

ALTER TABLE ONLY roundtable_fleet.workflow_events_history
    ADD CONSTRAINT workflow_events_history_pkey PRIMARY KEY (workflow_uuid, function_id, key);


--
-- Name: workflow_events workflow_events_pkey; Type: CONSTRAINT; Schema: roundtable_fleet; Owner: -
--

ALTER TABLE ONLY roundtable_fleet.workflow_events
    ADD CONSTRAINT workflow_events_pkey PRIMARY KEY (workflow_uuid, key);


--
-- Name: workflow_input workflow_input_pkey; Type: CONSTRAINT; Schema: roundtable_fleet; Owner: -
--

ALTER TABLE ONLY roundtable_fleet.workflow_input
    ADD CONSTRAINT workflow_input_pkey PRIMARY KEY (workflow_uuid);


--
-- Name: workflow_output workflow_output_pkey; Type: CONSTRAINT; Schema: roundtable_fleet; Owner: -
--

ALTER TABLE ONLY roundtable_fleet.workflow_output
    ADD CONSTRAINT workflow_output_pkey PRIMARY KEY (workflow_uuid);


--
-- Name: workflow_schedules workflow_schedules_pkey; Type: CONSTRAINT; Schema: roundtable_fleet; Owner: -
--

ALTER TABLE ONLY roundtable_fleet.workflow_schedules
    ADD CONSTRAINT workflow_schedules_pkey PRIMARY KEY (schedule_id);


--
-- Name: workflow_schedules workflow_schedules_schedule_name_key; Type: CONSTRAINT; Schema: roundtable_fleet; Owner: -
--

ALTER TABLE ONLY roundtable_fleet.workflow_schedules
    ADD CONSTRAINT workflow_schedules_schedule_name_key UNIQUE (schedule_name);


--
-- Name: workflow_status workflow_status_pkey; Type: CONSTRAINT; Schema: roundtable_fleet; Owner: -
--

ALTER TABLE ONLY roundtable_fleet.workflow_status
    ADD CONSTRAINT workflow_status_pkey PRIMARY KEY (workflow_uuid);


--
-- Name: key_values_by_expiry; Type: INDEX; Schema: roundtable; Owner: -
--

CREATE INDEX key_values_by_expiry ON roundtable.key_values USING btree (tenant_key, expires_us) WHERE (expires_us IS NOT NULL);


--
-- Name: key_values_by_name; Type: INDEX; Schema: roundtable; Owner: -
--

CREATE INDEX key_values_by_name ON roundtable.key_values USING btree (tenant_key, "left"(name, 100));


--
-- Name: positions_by_word; Type: INDEX; Schema: roundtable; Owner: -
--

CREATE INDEX positions_by_word ON roundtable.positions USING gin (words);


--
-- Name: sessions_by_age; Type: INDEX; Schema: roundtable; Owner: -
--

CREATE INDEX sessions_by_age ON roundtable.sessions USING btree (tenant_key, created_us);


--
-- Name: sessions_by_status; Type: INDEX; Schema: roundtable; Owner: -
--

CREATE INDEX sessions_by_status ON roundtable.sessions USING btree (tenant_key, status, created_us);


--
-- Name: idx_application_versions_owner_timestamp; Type: INDEX; Schema: roundtable_fleet; Owner: -
--

CREATE INDEX idx_application_versions_owner_timestamp ON roundtable_fleet.application_versions USING btree (application_name, version_timestamp DESC);


--
-- Name: idx_application_versions_timestamp; Type: INDEX; Schema: roundtable_fleet; Owner: -
--

CREATE INDEX idx_application_versions_timestamp ON roundtable_fleet.application_versions USING btree (version_timestamp DESC);


--
-- Name: idx_operation_outputs_completed_at_function_name_v2; Type: INDEX; Schema: roundtable_fleet; Owner: -
--

CREATE INDEX idx_operation_outputs_completed_at_function_name_v2 ON roundtable_fleet.operation_outputs USING btree (completed_at_epoch_ms, function_name) INCLUDE (application_name);


--
-- Name: idx_operation_outputs_retention; Type: INDEX; Schema: roundtable_fleet; Owner: -
--

CREATE INDEX idx_operation_outputs_retention ON roundtable_fleet.operation_outputs USING btree (retention_timestamp);


--
-- Name: idx_workflow_input_retention; Type: INDEX; Schema: roundtable_fleet; Owner: -
--

CREATE INDEX idx_workflow_input_retention ON roundtable_fleet.workflow_input USING btree (retention_timestamp);


--
-- Name: idx_workflow_output_retention; Type: INDEX; Schema: roundtable_fleet; Owner: -
--

CREATE INDEX idx_workflow_output_retention ON roundtable_fleet.workflow_output USING btree (retention_timestamp);


--
-- Name: idx_workflow_status_attributes; Type: INDEX; Schema: roundtable_fleet; Owner: -
--

CREATE INDEX idx_workflow_status_attributes ON roundtable_fleet.workflow_status USING gin (attributes) WHERE (attributes IS NOT NULL);


--
-- Name: idx_workflow_status_completed_at; Type: INDEX; Schema: roundtable_fleet; Owner: -
--

CREATE INDEX idx_workflow_status_completed_at ON roundtable_fleet.workflow_status USING btree (completed_at) WHERE (completed_at IS NOT NULL);


--
-- Name: idx_workflow_status_deadline; Type: INDEX; Schema: roundtable_fleet; Owner: -
--

CREATE INDEX idx_workflow_status_deadline ON roundtable_fleet.workflow_status USING btree (workflow_deadline_epoch_ms) WHERE ((status = ANY (ARRAY['ENQUEUED'::text, 'PENDING'::text, 'DELAYED'::text])) AND (workflow_deadline_epoch_ms IS NOT NULL));


--
-- Name: idx_workflow_status_delayed; Type: INDEX; Schema: roundtable_fleet; Owner: -
--

CREATE INDEX idx_workflow_status_delayed ON roundtable_fleet.workflow_status USING btree (delay_until_epoch_ms) WHERE (status = 'DELAYED'::text);


--
-- Name: idx_workflow_status_failed; Type: INDEX; Schema: roundtable_fleet; Owner: -
--

CREATE INDEX idx_workflow_status_failed ON roundtable_fleet.workflow_status USING btree (status, created_at) WHERE (status = ANY (ARRAY['ERROR'::text, 'CANCELLED'::text, 'MAX_RECOVERY_ATTEMPTS_EXCEEDED'::text]));


--
-- Name: idx_workflow_status_forked_from; Type: INDEX; Schema: roundtable_fleet; Owner: -
--

CREATE INDEX idx_workflow_status_forked_from ON roundtable_fleet.workflow_status USING btree (forked_from) WHERE (forked_from IS NOT NULL);


--
-- Name: idx_workflow_status_in_flight_v2; Type: INDEX; Schema: roundtable_fleet; Owner: -
--

CREATE INDEX idx_workflow_status_in_flight_v2 ON roundtable_fleet.workflow_status USING btree (queue_name, status, priority, created_at) INCLUDE (application_name) WHERE (status = ANY (ARRAY['ENQUEUED'::text, 'PENDING'::text]));


--
-- Name: idx_workflow_status_parent_workflow_id; Type: INDEX; Schema: roundtable_fleet; Owner: -
--

CREATE INDEX idx_workflow_status_parent_workflow_id ON roundtable_fleet.workflow_status USING btree (parent_workflow_id) WHERE (parent_workflow_id IS NOT NULL);


--
-- Name: idx_workflow_status_partition_dequeue_v3; Type: INDEX; Schema: roundtable_fleet; Owner: -
--

CREATE INDEX idx_workflow_status_partition_dequeue_v3 ON roundtable_fleet.workflow_status USING btree (queue_name, status, queue_partition_key, priority, created_at, workflow_uuid) INCLUDE (application_name) WHERE ((status = ANY (ARRAY['ENQUEUED'::text, 'PENDING'::text])) AND (queue_partition_key IS NOT NULL));


--
-- Name: idx_workflow_status_pending; Type: INDEX; Schema: roundtable_fleet; Owner: -
--

CREATE INDEX idx_workflow_status_pending ON roundtable_fleet.workflow_status USING btree (created_at) WHERE (status = 'PENDING'::text);


--
-- Name: idx_workflow_status_rate_limited; Type: INDEX; Schema: roundtable_fleet; Owner: -
--

CREATE INDEX idx_workflow_status_rate_limited ON roundtable_fleet.workflow_status USING btree (queue_name, started_at_epoch_ms) WHERE (rate_limited = true);


--
-- Name: idx_workflow_status_schedule_name; Type: INDEX; Schema: roundtable_fleet; Owner: -
--

CREATE INDEX idx_workflow_status_schedule_name ON roundtable_fleet.workflow_status USING btree (schedule_name) WHERE (schedule_name IS NOT NULL);


--
-- Name: idx_workflow_status_started_at; Type: INDEX; Schema: roundtable_fleet; Owner: -
--

CREATE INDEX idx_workflow_status_started_at ON roundtable_fleet.workflow_status USING btree (started_at_epoch_ms) WHERE (started_at_epoch_ms IS NOT NULL);


--
-- Name: idx_workflow_topic; Type: INDEX; Schema: roundtable_fleet; Owner: -
--

CREATE INDEX idx_workflow_topic ON roundtable_fleet.notifications USING btree (destination_uuid, topic);


--
-- Name: uq_application_versions_owner_version; Type: INDEX; Schema: roundtable_fleet; Owner: -
--

CREATE UNIQUE INDEX uq_application_versions_owner_version ON roundtable_fleet.application_versions USING btree (application_name, version_name) WHERE (application_name IS NOT NULL);


--
-- Name: uq_application_versions_unclaimed_version; Type: INDEX; Schema: roundtable_fleet; Owner: -
--

CREATE UNIQUE INDEX uq_application_versions_unclaimed_version ON roundtable_fleet.application_versions USING btree (version_name) WHERE (application_name IS NULL);


--
-- Name: uq_workflow_status_dedup_id; Type: INDEX; Schema: roundtable_fleet; Owner: -
--

CREATE UNIQUE INDEX uq_workflow_status_dedup_id ON roundtable_fleet.workflow_status USING btree (queue_name, deduplication_id) WHERE (deduplication_id IS NOT NULL);


--
-- Name: workflow_status_created_at_index; Type: INDEX; Schema: roundtable_fleet; Owner: -
--

CREATE INDEX workflow_status_created_at_index ON roundtable_fleet.workflow_status USING btree (created_at);


--
-- Name: notifications dbos_notifications_trigger; Type: TRIGGER; Schema: roundtable_fleet; Owner: -
--

CREATE TRIGGER dbos_notifications_trigger AFTER INSERT ON roundtable_fleet.notifications FOR EACH ROW EXECUTE FUNCTION roundtable_fleet.notifications_function();


--
-- Name: events events_key_fkey; Type: FK CONSTRAINT; Schema: roundtable; Owner: -
--

ALTER TABLE ONLY roundtable.events
    ADD CONSTRAINT events_key_fkey FOREIGN KEY (key) REFERENCES roundtable.sessions(key) ON DELETE CASCADE;


--
-- Name: leases leases_key_fkey; Type: FK CONSTRAINT; Schema: roundtable; Owner: -
--

ALTER TABLE ONLY roundtable.leases
    ADD CONSTRAINT leases_key_fkey FOREIGN KEY (key) REFERENCES roundtable.sessions(key) ON DELETE CASCADE;


--
-- Name: positions positions_key_fkey; Type: FK CONSTRAINT; Schema: roundtable; Owner: -
--

ALTER TABLE ONLY roundtable.positions
    ADD CONSTRAINT positions_key_fkey FOREIGN KEY (key) REFERENCES roundtable.sessions(key) ON DELETE CASCADE;


--
-- Name: turns turns_key_fkey; Type: FK CONSTRAINT; Schema: roundtable; Owner: -
--

ALTER TABLE ONLY roundtable.turns
    ADD CONSTRAINT turns_key_fkey FOREIGN KEY (key) REFERENCES roundtable.sessions(key) ON DELETE CASCADE;


--
-- Name: notifications notifications_destination_uuid_fkey; Type: FK CONSTRAINT; Schema: roundtable_fleet; Owner: -
--

ALTER TABLE ONLY roundtable_fleet.notifications
    ADD CONSTRAINT notifications_destination_uuid_fkey FOREIGN KEY (destination_uuid) REFERENCES roundtable_fleet.workflow_status(workflow_uuid) ON UPDATE CASCADE ON DELETE CASCADE;


--
-- Name: streams streams_workflow_uuid_fkey; Type: FK CONSTRAINT; Schema: roundtable_fleet; Owner: -
--

ALTER TABLE ONLY roundtable_fleet.streams
    ADD CONSTRAINT streams_workflow_uuid_fkey FOREIGN KEY (workflow_uuid) REFERENCES roundtable_fleet.workflow_status(workflow_uuid) ON UPDATE CASCADE ON DELETE CASCADE;


--
-- Name: workflow_events_history workflow_events_history_workflow_uuid_fkey; Type: FK CONSTRAINT; Schema: roundtable_fleet; Owner: -
--

ALTER TABLE ONLY roundtable_fleet.workflow_events_history
    ADD CONSTRAINT workflow_events_history_workflow_uuid_fkey FOREIGN KEY (workflow_uuid) REFERENCES roundtable_fleet.workflow_status(workflow_uuid) ON UPDATE CASCADE ON DELETE CASCADE;


--
-- Name: workflow_events workflow_events_workflow_uuid_fkey; Type: FK CONSTRAINT; Schema: roundtable_fleet; Owner: -
--

ALTER TABLE ONLY roundtable_fleet.workflow_events
    ADD CONSTRAINT workflow_events_workflow_uuid_fkey FOREIGN KEY (workflow_uuid) REFERENCES roundtable_fleet.workflow_status(workflow_uuid) ON UPDATE CASCADE ON DELETE CASCADE;


--
-- PostgreSQL database dump complete
--


