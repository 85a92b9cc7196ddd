"""The hash chain of a log: which change of a log is found, and where; and what leaves the hashes as they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from unit.report_kit import events as events_of
from unit.report_kit import record, without_hashes

from roundtable.core.record.chain import LogHash, chain_events, find_faults, first_hash
from roundtable.core.record.fold import Fold, fold_debate
from roundtable.errors import ConfigurationError, SessionError
from roundtable.record import ChainHead, archive_parts, read_archive, rebase_past, verify_archive, verify_log, with_id
from roundtable.record.signature import LogSignature, check_signature, sign_head
from roundtable.types import Control, DurableEvent, SessionRecord, TextAnswer, utc_now

RECORD = record()


def events() -> list[DurableEvent]:
    return list(events_of(RECORD.id))


LOG = chain_events(first_hash(RECORD), 0, events())
OLD = [event.model_copy(update={"previous_hash": None}) for event in LOG]
STORED = Path(__file__).parent / "data" / "session.json"


def head(log: list[DurableEvent], of: SessionRecord = RECORD) -> ChainHead:
    log_hash = LogHash(of)
    for event in log:
        log_hash.add(event)
    return ChainHead(events=log[-1].seq if log else 0, hash=log_hash.head())


def found(log: list[DurableEvent], expected: ChainHead | None = None, of: SessionRecord = RECORD) -> list[str]:
    return [str(fault) for fault in find_faults(of, log, expected)]


def later(event: DurableEvent) -> DurableEvent:
    return event.model_copy(update={"timestamp": utc_now()})


def test_an_untouched_log_has_no_faults() -> None:
    assert found(LOG) == found(LOG, head(LOG)) == found([]) == []
    verified = verify_log(RECORD, LOG, expected=head(LOG))
    assert (verified.verdict, verified.events, verified.linked_from) == ("intact", len(LOG), 1)


@pytest.mark.parametrize("number", range(1, len(LOG)))
def test_a_changed_event_is_named(number: int) -> None:
    changed = [*LOG[: number - 1], later(LOG[number - 1]), *LOG[number:]]
    assert found(changed) == [f"event {number}: changed"]
    assert found(changed, head(LOG)) == [f"event {number}: changed"]


def test_only_a_head_shows_that_the_last_event_was_changed_or_cut() -> None:
    changed = [*LOG[:-1], later(LOG[-1])]
    assert found(changed) == []
    assert found(changed, head(LOG)) == [f"event {len(LOG)}: changed"]
    assert found(LOG[:-2]) == []
    assert found(LOG[:-2], head(LOG)) == [f"event {len(LOG) - 1} to event {len(LOG)}: cut"]
    assert found([], head(LOG)) == [f"event 1 to event {len(LOG)}: cut"]


@pytest.mark.parametrize("number", range(1, len(LOG) + 1))
def test_a_change_of_any_event_changes_every_head_that_is_shown(number: int) -> None:
    changed = [*LOG[: number - 1], later(LOG[number - 1]), *LOG[number:]]
    exported_head = ChainHead(**json.loads(exported(changed))["head"])
    assert head(changed) == verify_log(RECORD, changed).head == exported_head != head(LOG)
    assert fold_debate(RECORD, changed).log_hash == exported_head.hash
    assert fold_debate(RECORD, LOG).log_hash == head(LOG).hash


def test_the_next_event_continues_the_chain_of_a_changed_log() -> None:
    changed = [*LOG[:3], later(LOG[3]), *LOG[4:]]
    more = chain_events(Fold(RECORD, changed).link, len(LOG), events()[-1:])
    assert found([*changed, *more]) == found([*changed, *more], head(LOG)) == ["event 4: changed"]
    # A head that was noted after the change adds no fault.
    assert found([*changed, *more], head(changed)) == ["event 4: changed"]


def test_a_fold_computes_its_head_from_every_event_whenever_it_was_requested_before() -> None:
    fold = Fold(RECORD)
    for number, event in enumerate(LOG, 1):
        fold.apply(event)
        assert fold.link == head(LOG[:number]).hash
        if number % 3 == 0:
            assert fold.head == fold.link
    assert fold.head == head(LOG).hash


@pytest.mark.parametrize("length", [1, 2, 3, len(LOG)])
def test_a_fold_chains_events_of_any_number_and_keeps_the_head_of_all(length: int) -> None:
    fold = Fold(RECORD)
    for start in range(0, len(LOG), length):
        chained = fold.chain(OLD[start : start + length])
        assert chained == list(LOG[start : start + length])
        for event in chained:
            fold.apply(event)
        assert fold.head == head(LOG[: start + length]).hash


def test_an_event_that_is_stored_differently_is_hashed_as_stored() -> None:
    fold = Fold(RECORD)
    first, second = fold.chain(OLD[:2])
    stored = [later(first), second]
    for event in stored:
        fold.apply(event)
    assert fold.head == head(stored).hash != head(LOG[:2]).hash


def test_a_changed_log_is_not_signed() -> None:
    private, _ = keys()
    with pytest.raises(SessionError, match="event 3: changed") as caught:
        "".join(archive_parts(RECORD, [*LOG[:2], later(LOG[2]), *LOG[3:]], sign=lambda of: sign_head(of, private)))
    assert (caught.value.code, "Nothing was signed" in (caught.value.hint or "")) == ("SESSION_CHANGED", True)


def test_missing_and_reordered_events_are_named() -> None:
    assert found([*LOG[:3], *LOG[5:]]) == ["event 4 to event 5: missing"]
    assert found([*LOG[:3], LOG[4], LOG[3], *LOG[5:]]) == ["event 4: reordered"]
    assert found([*LOG[:3], LOG[3], *LOG[3:]]) == ["event 4: reordered"]


def test_events_that_were_cut_out_and_renumbered_are_found() -> None:
    renumbered = [event.model_copy(update={"seq": event.seq - 2}) for event in LOG[5:]]
    faults = found([*LOG[:3], *renumbered], head(LOG))
    assert faults[0] == "event 3: changed"
    assert faults[-1].endswith(f"event {len(LOG)}: cut")


def test_a_number_that_is_forged_does_not_take_time() -> None:
    forged = [*LOG[:3], LOG[3].model_copy(update={"seq": 10**15}), *LOG[4:]]
    assert found(forged)[0] == f"event 4 to event {10**15 - 1}: missing"


def test_each_of_several_changes_is_named() -> None:
    changed = [later(event) if event.seq in {2, 5} else event for event in LOG]
    assert found(changed) == ["event 2: changed", "event 5: changed"]


def test_a_changed_hash_is_a_change_of_its_own_event() -> None:
    changed = [event.model_copy(update={"previous_hash": "0" * 64}) if event.seq == 4 else event for event in LOG]
    assert found(changed) == ["event 4: changed"]
    removed = [event.model_copy(update={"previous_hash": None}) if event.seq == 4 else event for event in LOG]
    assert found(removed) == ["event 4: unlinked"]
    last = [*LOG[:-1], LOG[-1].model_copy(update={"previous_hash": "0" * 64})]
    assert found(last, head(LOG)) == [f"event {len(LOG)}: changed"]


def test_a_changed_configuration_is_found() -> None:
    other = RECORD.model_copy(update={"config": RECORD.config.model_copy(update={"topic": "Beer?"})})
    assert found(LOG, of=other) == ["the session's configuration: changed"]


def test_a_request_without_a_hash_is_covered_by_the_next_event() -> None:
    pause = Control(session_id=RECORD.id, timestamp=utc_now(), action="pause", seq=len(LOG) + 1)
    log = [*LOG, pause]
    more = chain_events(head(log).hash, len(log), events()[-1:])
    assert found([*log, *more]) == []
    assert found([*LOG, later(pause), *more]) == [f"event {len(LOG)} to event {len(LOG) + 1}: changed"]


def test_a_log_without_hashes_is_not_verifiable_until_an_event_has_one() -> None:
    assert (verify_log(RECORD, OLD).verdict, verify_log(RECORD, OLD, expected=head(OLD)).verdict) == (
        "unlinked",
        "intact",
    )
    grown = [*OLD, *chain_events(head(OLD).hash, len(OLD), events()[-1:])]
    verified = verify_log(RECORD, grown)
    assert (verified.verdict, verified.linked_from) == ("intact", len(OLD) + 1)
    assert f"Event {len(OLD) + 1} is the first with a hash" in verified.to_text()
    grown[2] = later(grown[2])
    assert found(grown) == [f"the session's configuration to event {len(OLD)}: changed"]


def test_a_recorded_head_still_fits_a_longer_log() -> None:
    assert found(LOG, head(LOG[:4])) == []
    rewritten = chain_events(first_hash(RECORD), 0, [later(event) for event in events()])
    assert found(rewritten) == []
    assert found(rewritten, head(LOG[:4])) == ["event 4: changed"]


def test_a_copy_under_another_name_has_the_same_hashes_and_a_fork_has_none() -> None:
    copy, log = with_id("other", RECORD, LOG, tenant="me")
    assert found(list(log), head(LOG), of=copy) == []
    assert {event.previous_hash for event in rebase_past("fork", LOG)} == {None}


def test_types_that_differ_only_in_their_tag_have_different_hashes() -> None:
    number, complete = next((at, event) for at, event in enumerate(LOG) if event.type == "agent_complete")
    assert complete.type == "agent_complete"
    result = complete.turn.result.model_copy(update={"answer": TextAnswer(text="Tea")})
    as_text = complete.model_copy(update={"turn": complete.turn.model_copy(update={"result": result})})
    assert found([*LOG[:number], as_text, *LOG[number + 1 :]]) == [f"event {number + 1}: changed"]


def test_lone_surrogates_are_hashed_as_they_are_stored() -> None:
    pause = Control(session_id="s", timestamp=utc_now(), action="pause").model_copy(update={"by": "a\ud800"})
    stored = pause.model_copy(update={"by": "a\ufffd"})
    assert head([pause]).hash == head([stored]).hash


def test_a_head_is_read_from_its_text() -> None:
    assert ChainHead.parse(f" {head(LOG)}\n") == head(LOG)
    for text in ("", "12", f"-1:{'0' * 64}", f"1:{'G' * 64}", f"{'9' * 99}:{'0' * 64}"):
        with pytest.raises(ConfigurationError, match="not the head"):
            ChainHead.parse(text)


def test_a_session_stored_by_an_earlier_version_is_verifiable_in_every_later_one() -> None:
    # If this fails, a stored type changed a default or renamed a field. Give new fields a default, and keep old ones.
    verified = verify_archive(STORED.read_bytes())
    assert (verified.verdict, verified.head) == ("intact", ChainHead(**json.loads(STORED.read_text())["head"]))


def exported(log: list[DurableEvent] = LOG) -> str:
    return "".join(archive_parts(RECORD, log))


def test_an_export_contains_its_head_and_an_import_checks_it() -> None:
    document = exported()
    assert read_archive(document) == (RECORD, tuple(LOG))
    assert verify_archive(document).head == head(LOG)
    with pytest.raises(SessionError, match="event 3: changed") as caught:
        read_archive(exported([*LOG[:2], later(LOG[2]), *LOG[3:]]))
    assert caught.value.code == "ARCHIVE_CHANGED"
    cut = json.loads(document)
    del cut["events"][-2:]
    with pytest.raises(SessionError, match=r"event 12|cut"):
        read_archive(json.dumps(cut))
    del cut["head"]
    with pytest.raises(SessionError, match="it has no head"):
        read_archive(json.dumps(cut))
    with pytest.raises(SessionError, match="its version is 1, but its events have hashes"):
        read_archive(json.dumps(cut | {"version": 1}))
    assert read_archive(without_hashes(json.dumps(cut)))[0] == RECORD


@pytest.mark.parametrize("bad", [{"head": {"events": 1}}, {"head": 3}, {"signature": {"algorithm": "none"}}])
def test_a_head_or_signature_that_cannot_be_read_is_an_error(bad: dict[str, object]) -> None:
    with pytest.raises(SessionError, match="head or its signature"):
        read_archive(json.dumps(json.loads(exported()) | bad))


def test_a_file_shows_where_it_was_changed() -> None:
    document = json.loads(exported())
    document["events"][2]["sequel"] = 1
    document["events"][4], document["events"][5] = document["events"][5], document["events"][4]
    verified = verify_archive(json.dumps(document))
    assert [str(fault) for fault in verified.faults] == ["event 3: unreadable", "event 5: reordered"]
    more = json.loads(exported())
    more["head"] = head(LOG[:4]).model_dump(mode="json")
    assert [str(fault) for fault in verify_archive(json.dumps(more)).faults] == [
        f"event 5 to event {len(LOG)}: changed"
    ]
    assert verify_archive(exported(), expected=head(LOG[:4])).verdict == "intact"
    assert verify_archive(exported(), expected=ChainHead(events=4, hash="0" * 64)).verdict == "changed"


def test_another_spelling_of_the_same_value_is_a_change() -> None:
    event = LOG[3].to_json()
    assert '"seq":4' in event
    for spelled in (event.replace('"seq":4', '"seq":4,"seq":4'), event.replace("T", " ", 1)):
        if spelled != event:
            verified = verify_archive(exported().replace(event, spelled))
            assert [fault.first for fault in verified.faults] == [4], spelled


def keys() -> tuple[bytes, bytes]:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    key = Ed25519PrivateKey.generate()
    return (
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
    )


def test_a_signature_fits_one_log_and_one_key() -> None:
    private, public = keys()
    _, other = keys()
    signature = sign_head(head(LOG), private)
    assert check_signature(signature, head(LOG), public) == "valid"
    assert check_signature(signature, head(LOG)) == "own"
    assert check_signature(signature, head(LOG), other) == "other_key"
    assert check_signature(signature, head(LOG[:-1]), public) == "invalid"
    for bad in ({"signature": "?"}, {"public_key": "AAAA"}, {"signature": "AAAA"}):
        assert check_signature(signature.model_copy(update=bad), head(LOG), public) == "invalid"


def test_a_signed_file_is_checked_with_the_key_of_the_user() -> None:
    private, public = keys()
    document = "".join(archive_parts(RECORD, LOG, sign=lambda of: sign_head(of, private)))
    assert read_archive(document)[0] == RECORD
    assert verify_archive(document, public_key=public).to_text().splitlines()[:2] == [
        f"Intact: {len(LOG)} events, each covered by a hash.",
        "Signature: valid, of this key.",
    ]
    other = verify_archive(document, public_key=keys()[1])
    assert (other.verdict, other.signature) == ("changed", "other_key")
    assert "Signature: of another key." in other.to_text()
    unsigned = verify_archive(exported(), public_key=public)
    assert (unsigned.verdict, unsigned.key_missing) == ("changed", True)
    assert "Signature: none." in unsigned.to_text()
    # A log that was rewritten as a whole has a chain and a head of its own, but not this signature.
    rewritten = chain_events(first_hash(RECORD), 0, [later(event) for event in events()])
    forged = json.loads("".join(archive_parts(RECORD, rewritten)))
    forged["signature"] = json.loads(document)["signature"]
    assert verify_archive(json.dumps(forged), public_key=public).signature == "invalid"


def test_other_keys_are_refused_with_how_to_create_one() -> None:
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    private, public = keys()
    curve = generate_private_key(SECP256R1())
    pem = curve.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    curve_public = curve.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    for bad in (pem, public, b"no key"):
        with pytest.raises(ConfigurationError, match="private key") as caught:
            sign_head(head(LOG), bad)
        assert "openssl" in str(caught.value.hint)
    signature = LogSignature(public_key="", signature="")
    for bad in (curve_public, private, b"no key"):
        with pytest.raises(ConfigurationError, match="public key"):
            check_signature(signature, head(LOG), bad)
