"""Files of a question are known by their content, have limits, and are refused with a hint."""

from __future__ import annotations

import os
import zlib
from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from roundtable.core.types import attachments
from roundtable.core.types.attachments import IMAGE_TOKENS, PAGE_TOKENS, read_attachments, stored_contents
from roundtable.errors import ConfigurationError
from roundtable.types import Attachment, AttachmentInfo, DebateConfig, SessionRecord

if TYPE_CHECKING:
    from pathlib import Path

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 24
JPEG = b"\xff\xd8\xff\xe0" + b"\0" * 24
GIF = b"GIF89a" + b"\0" * 24
WEBP = b"RIFF\x24\0\0\0WEBPVP8 " + b"\0" * 24
PDF = b"%PDF-1.7\n1 0 obj << /Type /Pages /Count 2 >> endobj\n<< /Type /Page >>\n<</Type/Page/Parent 1 0 R>>\n%%EOF"


def refused(given: Any) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        read_attachments([given])
    assert caught.value.code == "ATTACHMENT_INVALID"
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize(
    ("content", "media_type", "kind"),
    [
        (PNG, "image/png", "image"),
        (JPEG, "image/jpeg", "image"),
        (GIF, "image/gif", "image"),
        (WEBP, "image/webp", "image"),
        (PDF, "application/pdf", "pdf"),
        (b"junk before the header\xff\n" + PDF, "application/pdf", "pdf"),
        (b"A PDF document begins with `%PDF-1.7`.\n", "text/plain", "text"),
        ("Größe: 3 m²\r\n".encode(), "text/plain", "text"),
    ],
)
def test_the_type_of_a_file_is_that_of_its_content(content: bytes, media_type: str, kind: str) -> None:
    attachment = Attachment.from_bytes(content)
    assert (attachment.media_type, attachment.kind) == (media_type, kind)
    assert attachment.content == content
    assert attachment.info.sha256 == sha256(content).hexdigest()
    assert Attachment.from_json(attachment.to_json()).checked() == attachment


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("notes.md", "text/markdown"),
        ("data.json", "application/json"),
        ("a.unknown", "text/plain"),
        ("x.exe", "text/plain"),
    ],
)
def test_a_text_keeps_the_type_of_its_name(name: str, media_type: str) -> None:
    assert Attachment.from_bytes(b"[1]", name=name).media_type == media_type


def test_only_well_known_text_file_names_conflict_with_an_image() -> None:
    assert Attachment.from_bytes(PNG, name="a.a").media_type == "image/png"  # text/vnd.a, on some machines


def test_a_byte_order_mark_is_not_part_of_a_text() -> None:
    assert Attachment.from_bytes("\ufeffTea".encode()).text == "Tea"


@pytest.mark.parametrize(
    ("content", "name", "claimed", "says"),
    [
        (JPEG, "photo.png", None, "'photo.png' is called image/png, but contains image/jpeg"),
        (PNG, "a", "image/webp", "'a' is called image/webp, but contains image/png"),
        (b"<html>", "chart.png", None, "'chart.png' is called image/png, but contains text/plain"),
        (PNG, "paper.pdf", None, "'paper.pdf' is called application/pdf, but contains image/png"),
        (b"<svg/>", "logo.svg", None, "'logo.svg' is called image/svg+xml, but contains text/plain"),
        (b"MZ\x90\0\xff", "tool.exe", None, "'tool.exe' is neither an image, a PDF document nor a text"),
        (b"MZ\x90\0\xff", "a", "image/png", "'a' is called image/png, but contains something else"),
        (b"one\0two", "a.txt", None, "'a.txt' is neither an image, a PDF document nor a text"),
        (PDF, "a", "text/plain", "'a' is called text/plain, but contains application/pdf"),
        (PNG, "notes.txt", None, "'notes.txt' is called text/plain, but contains image/png"),
        (PDF, "data.json", None, "'data.json' is called application/json, but contains application/pdf"),
        (b"", "a.txt", None, "'a.txt' is empty"),
    ],
)
def test_a_file_with_a_wrong_type_is_refused(content: bytes, name: str, claimed: str | None, says: str) -> None:
    given = Attachment(name=name, media_type=claimed, data=b64encode(content).decode())
    assert refused(given).message == says


def test_the_type_image_jpg_means_jpeg() -> None:
    assert Attachment.from_bytes(JPEG, media_type="image/jpg").media_type == "image/jpeg"


def test_an_image_of_50_mb_is_refused_without_being_read(tmp_path: Path) -> None:
    large = tmp_path / "large.png"
    with large.open("wb") as file:
        file.write(PNG)
        file.truncate(50_000_000)
    assert refused(str(large)).message == "'large.png' takes 50.0 MB; at most 12.6 MB are allowed"


def test_each_kind_has_a_limit() -> None:
    assert "takes 3.8 MB; at most 3.8 MB" in refused(PNG + b"\0" * 3_750_000).message
    assert "at most 12.6 MB" in refused(PDF + b"\0" * 13_000_000).message
    assert refused(b"x" * 1_000_001).message == "'attachment' has 1,000,001 characters; at most 1,000,000 are allowed"
    assert refused(PDF + b"<< /Type /Page >>" * 99).message == "'attachment' has 101 pages; at most 100 are allowed"
    with pytest.raises(ConfigurationError, match="'all files together' takes 14"):
        read_attachments([PDF + bytes([number]) * 4_700_000 for number in (1, 2, 3)])
    with pytest.raises(ConfigurationError, match="21 files are attached; at most 20"):
        read_attachments([b"tea"] * 21)


def test_a_file_that_is_given_twice_is_kept_once() -> None:
    assert [each.name for each in read_attachments([Attachment(name="a", text="Tea"), b"Tea", b"Milk"])] == [
        "a",
        "attachment",
    ]


@pytest.mark.parametrize("data", ["no base64!", "YQ=", "Y\nQ=="])
def test_data_that_is_not_base64_is_refused(data: str) -> None:
    assert refused(Attachment(data=data)).message == "'attachment' has data that is not base64"


@pytest.mark.parametrize("given", ["chart.png", b"x", [3], 7])
def test_only_a_list_of_files_is_accepted(given: Any) -> None:
    with pytest.raises(ConfigurationError):
        read_attachments(given)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    error = refused(tmp_path / "none.png")
    assert error.message.endswith("'none.png' cannot be read: No such file or directory")


def test_a_pdf_with_a_later_header_is_recognized_by_its_name_or_type() -> None:
    content = b"junk before the header\n" + PDF
    assert Attachment.from_bytes(content, name="a.pdf").kind == "pdf"
    assert Attachment.from_bytes(content, media_type="application/pdf").kind == "pdf"
    assert Attachment.from_bytes(content, name="notes.md").media_type == "text/markdown"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    for path in (tmp_path / "pipe.txt", "/dev/zero"):
        assert refused(path).message.endswith("is not a regular file")


def test_a_file_that_grows_while_it_is_read_is_read_up_to_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    growing, small = tmp_path / "growing.txt", tmp_path / "small.txt"
    small.write_bytes(b"")
    with growing.open("wb") as file:
        file.truncate(13_000_000)
    before = small.stat()
    monkeypatch.setattr(os, "fstat", lambda _: before)
    assert "at most 12.6 MB" in refused(growing).message


@pytest.mark.parametrize(
    "fields", [{}, {"text": "a", "data": "YQ=="}, {"name": "a\nb", "text": "x"}, {"name": " ", "text": "x"}]
)
def test_an_attachment_has_a_name_and_one_content(fields: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        Attachment(**fields)


def test_pages_are_counted_in_compressed_objects_too() -> None:
    assert Attachment.from_bytes(PDF).info.pages == 2
    objects = zlib.compress(b"<< /Type /Page >> << /Type/Page >> << /Type /Pages >> << /Type /Page\n>>")
    head = b"%PDF-1.5\n7 0 obj << /Type /ObjStm /N 4 /Filter /FlateDecode >>\nstream\r\n"
    assert Attachment.from_bytes(head + objects + b"\nendstream").info.pages == 3
    broken = Attachment.from_bytes(head + b"\xff\xfe not compressed" + b"\nendstream" + b"\0" * 200_000)
    assert broken.info.pages == 4  # by its size


class Inflations:
    """Counts what is given to zlib."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.streams = self.read = 0
        self._make = zlib.decompressobj
        monkeypatch.setattr(zlib, "decompressobj", self.begin)

    def begin(self) -> Any:
        self.streams += 1
        inflater = self._make()

        class Counted:
            def decompress(_, data: bytes, most: int) -> bytes:  # noqa: N805
                self.read += len(data)
                return inflater.decompress(data, most)

            def __getattr__(_, name: str) -> Any:  # noqa: N805
                return getattr(inflater, name)

        return Counted()


@pytest.mark.parametrize(
    "stream",
    [
        b"/ObjStm stream\n",
        b"/ObjStm stream\nx\x9c",
        b"/ObjStm stream\n" + zlib.compress(b""),
        b"/ObjStm stream\n" + zlib.compress(b"")[:2] + b"\0\x40\0\xbf\xff",
        b"/ObjStm",
    ],
    ids=["empty", "broken", "whole", "stored", "without"],
)
def test_the_work_for_a_document_with_very_many_object_streams_is_bounded(
    stream: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = PDF + stream * 100_000
    inflations = Inflations(monkeypatch)
    assert Attachment(media_type="application/pdf", data=b64encode(content).decode()).info.pages == 2
    assert inflations.streams <= 2_000
    assert inflations.read <= 2_000 * 16_384 + 32 * 1024 * 1024


@pytest.mark.slow
def test_object_streams_that_inflate_to_much_are_read_up_to_a_limit() -> None:
    stream = b"/ObjStm stream\n" + zlib.compress(b" " * 20_000_000 + b"/Type /Page")
    page = b"/ObjStm stream\n" + zlib.compress(b"/Type /Page")
    assert Attachment.from_bytes(PDF + stream + page).info.pages == 4
    assert Attachment.from_bytes(PDF + stream * 3 + page).info.pages == 3


def test_tokens_follow_from_the_kind() -> None:
    assert Attachment.from_bytes(PNG).info.tokens == IMAGE_TOKENS
    assert Attachment.from_bytes(PDF).info.tokens == 2 * PAGE_TOKENS
    assert Attachment(text="Tea").info.tokens == 0


def stored_record(*attachments: Attachment) -> SessionRecord:
    config = DebateConfig(topic="Tea?", agents=(), attachments=tuple(each.info for each in attachments))
    return SessionRecord(id="s", config=config, agents=(), contents=stored_contents(attachments))


def test_a_record_holds_each_content_and_notices_changes() -> None:
    files = read_attachments([PNG, PDF, "Größe".encode()])
    record = stored_record(*files)
    read = SessionRecord.from_json(record.to_json())
    assert read.attachments == files
    assert [each.content for each in read.attachments] == [PNG, PDF, "Größe".encode()]
    with pytest.raises(ValidationError, match="has changed since it was stored"):
        SessionRecord.from_json(record.to_json().replace("Größe", "Breite"))
    with pytest.raises(ValidationError, match="is missing"):
        SessionRecord.model_validate({**record.model_dump(), "contents": {}})


def test_a_content_is_hashed_once_however_often_its_session_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[int] = []

    def counted(content: bytes) -> Any:
        hashed.append(len(content))
        return sha256(content)

    text = stored_record(Attachment(name="once.md", text="Read me once, and only once.")).to_json()
    monkeypatch.setattr(attachments, "sha256", counted)
    monkeypatch.setattr(attachments, "_checked", set())
    for _ in range(3):
        SessionRecord.from_json(text)
    assert len(hashed) == 1
    with pytest.raises(ValidationError, match="has changed since it was stored"):
        SessionRecord.from_json(text.replace("only once", "only twic"))
    with pytest.raises(ValidationError, match="has changed since it was stored"):
        SessionRecord.from_json(text.replace("only once", "only twic"))


def test_the_repr_of_a_file_shows_no_content() -> None:
    info = Attachment.from_bytes(b"secret").info
    assert AttachmentInfo.from_json(info.to_json()) == info
    assert "secret" not in repr(Attachment(text="secret")) + info.to_json()
