"""A server with the batch APIs of three vendors, on this machine."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

from roundtable.testing.servers import LoopbackServer, Seen, WireReply, http_reply

MODELS = {
    "anthropic": "claude-sonnet-4-5",
    "openai": "gpt-5.2",
    "openai-chat": "gpt-4.1",
    "google": "gemini-3-flash-preview",
}
PATHS = {"anthropic": "", "openai": "/v1", "openai-chat": "/v1", "google": ""}


def answer_body(vendor: str, text: str) -> dict[str, Any]:
    """Return the body of an answer in the vendor's own format; `CALL name` calls a tool of Anthropic."""
    match vendor:
        case "anthropic":
            usage = {"input_tokens": 100, "output_tokens": 10}
            if text.startswith("CALL "):
                call = {"type": "tool_use", "id": "t1", "name": text.removeprefix("CALL "), "input": {}}
                return {"type": "message", "content": [call], "stop_reason": "tool_use", "usage": usage}
            return {"type": "message", "content": [{"type": "text", "text": text}], "usage": usage}
        case "google":
            counts = {"promptTokenCount": 100, "candidatesTokenCount": 10}
            parts = {"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}
            return {"candidates": [parts], "usageMetadata": counts}
        case "openai":
            item = {"type": "message", "content": [{"type": "output_text", "text": text}]}
            usage = {"input_tokens": 100, "output_tokens": 10}
            return {"status": "completed", "output": [item], "usage": usage}
        case _:
            usage = {"prompt_tokens": 100, "completion_tokens": 10}
            return {"choices": [{"message": {"content": text}, "finish_reason": "stop"}], "usage": usage}


@dataclass
class Batch:
    """A batch that the server has accepted."""

    id: str
    calls: dict[str, dict[str, Any]]
    name: str = ""
    looks: int = 0


@dataclass
class BatchServer:
    """Accepts batches, and has each ended after some looks at it.

    `fate` says what becomes of a call by its body: a text is its answer, a number the status of an error, and `None`
    that it expires.
    """

    vendor: str
    fate: Callable[[dict[str, Any]], str | int | None] = lambda _: "Tea."
    looks: int = 2
    loses_ids: int = 0
    fails_looks: int = 0
    refuses: int = 0
    gateway_errors: int = 0
    fails: int = 0
    cuts: int = 0
    listed: int = 100
    gone: tuple[str, ...] = ()
    has_list: bool = True
    direct: int = 0
    batches: list[Batch] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    paid: int = 0

    def __enter__(self) -> Self:
        self.server = LoopbackServer(self.reply)
        self.server.__enter__()
        return self

    def __exit__(self, *details: object) -> None:
        self.server.__exit__(*details)  # type: ignore[arg-type]

    @property
    def url(self) -> str:
        return self.server.origin + PATHS[self.vendor]

    @property
    def submits(self) -> list[int]:
        """How many calls each batch had."""
        return [len(batch.calls) for batch in self.batches]

    def reply(self, seen: Seen) -> WireReply:
        path = seen.path.split("?")[0]
        handlers = {"anthropic": self.anthropic, "google": self.google}
        return handlers.get(self.vendor, self.openai)(seen, path)

    def accept(self, calls: dict[str, dict[str, Any]], name: str = "") -> Batch | WireReply:
        if self.refuses:
            self.refuses -= 1
            return sent({"error": {"message": "too many batches", "type": "invalid_request_error"}}, 400)
        batch = Batch(
            f"batches/b{len(self.batches)}" if self.vendor == "google" else f"b{len(self.batches)}", calls, name
        )
        self.batches.append(batch)
        if self.loses_ids:
            self.loses_ids -= 1
            return WireReply([], "close")
        if self.gateway_errors:
            self.gateway_errors -= 1
            return http_reply(b"<html>504 Gateway Time-out</html>", status=504)
        return batch

    def look(self, batch_id: str) -> Batch | WireReply:
        if self.fails_looks:
            self.fails_looks -= 1
            return sent({"error": {"message": "down", "type": "overloaded_error"}}, 503)
        batch = next(one for one in self.batches if one.id == batch_id)
        if batch.id in self.gone:
            return sent({"error": {"message": "no such batch", "type": "not_found_error"}}, 404)
        batch.looks += 1
        return batch

    def ended(self, batch: Batch) -> bool:
        return batch.looks >= self.looks

    def outcomes(self, batch: Batch) -> list[tuple[str, str | int | None]]:
        """Return what became of each call, the last one first."""
        outcomes = [(key, self.fate(body)) for key, body in batch.calls.items()]
        self.paid += sum(isinstance(outcome, str) for _, outcome in outcomes)
        return outcomes[::-1]

    # ------------------------------------------------------------------ vendors

    def anthropic(self, seen: Seen, path: str) -> WireReply:
        assert seen.headers["x-api-key"] == "secret-key"
        assert seen.headers["anthropic-version"]
        if path == "/v1/messages":
            self.direct += 1
            outcome = self.fate(seen.json)  # type: ignore[arg-type]
            return sent(answer_body("anthropic", str(outcome)))
        if seen.method == "POST":
            assert path == "/v1/messages/batches"
            made = self.accept({one["custom_id"]: one["params"] for one in seen.json["requests"]})  # type: ignore[index,union-attr,misc,call-overload]
            return made if isinstance(made, WireReply) else sent(self.anthropic_batch(made))
        if path == "/v1/messages/batches" and not self.has_list:
            return sent({"error": {"message": "not found", "type": "not_found_error"}}, 404)
        if path == "/v1/messages/batches":
            return sent({"data": [self.anthropic_batch(batch) for batch in self.batches[::-1]]})
        batch_id = path.split("/")[4]
        if not path.endswith("/results"):
            made = self.look(batch_id)
            return made if isinstance(made, WireReply) else sent(self.anthropic_batch(made))
        batch = next(one for one in self.batches if one.id == batch_id)
        lines = []
        for key, outcome in self.outcomes(batch):
            match outcome:
                case str():
                    result: dict[str, Any] = {"type": "succeeded", "message": answer_body("anthropic", outcome)}
                case int():
                    kind = {400: "invalid_request_error", 529: "overloaded_error"}[outcome]
                    error = {"type": kind, "message": "no"}
                    result = {"type": "errored", "error": {"type": "error", "error": error}}
                case None:
                    result = {"type": "expired"}
            lines.append(json.dumps({"custom_id": key, "result": result}))
        if self.cuts:
            self.cuts -= 1
            lines = [*lines[:-1], lines[-1][:40]]
        return http_reply("\n".join(["{half a line", *lines]).encode())

    def anthropic_batch(self, batch: Batch) -> dict[str, Any]:
        now = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
        status = "ended" if self.ended(batch) else "in_progress"
        elsewhere = "https://elsewhere.example/results"
        return {"id": batch.id, "processing_status": status, "results_url": elsewhere, "created_at": now}

    def openai(self, seen: Seen, path: str) -> WireReply:
        assert seen.headers["authorization"] == "Bearer secret-key"
        if seen.method == "POST" and path == "/v1/files":
            boundary = re.search("boundary=(.+)", seen.headers["content-type"])
            assert boundary is not None
            *_, file, _ = seen.body.split(b"--" + boundary[1].encode())
            self.files[f"file-{len(self.files)}"] = file.split(b"\r\n\r\n", 1)[1]
            return sent({"id": f"file-{len(self.files) - 1}"})
        if seen.method == "POST":
            wanted: Any = seen.json
            assert (path, wanted["completion_window"]) == ("/v1/batches", "24h")
            lines = [json.loads(line) for line in self.files[wanted["input_file_id"]].splitlines() if line.strip()]
            assert {line["url"] for line in lines} == {wanted["endpoint"]}
            made = self.accept({line["custom_id"]: line["body"] for line in lines}, wanted["metadata"]["roundtable"])
            return made if isinstance(made, WireReply) else sent(self.openai_batch(made))
        if path == "/v1/batches":
            after = re.search("after=(.+)", seen.path)
            known = [batch.id for batch in self.batches[::-1]]
            start = known.index(after[1]) + 1 if after else 0
            page = self.batches[::-1][start : start + self.listed]
            more = start + self.listed < len(self.batches)
            return sent({"data": [self.openai_batch(batch) for batch in page], "has_more": more})
        if path.startswith("/v1/batches/"):
            made = self.look(path.split("/")[3])
            return made if isinstance(made, WireReply) else sent(self.openai_batch(made))
        batch = next(one for one in self.batches if one.id in path)
        is_output, out = "-output" in path, []
        for key, outcome in self.outcomes(batch):
            if isinstance(outcome, str) and is_output:
                body = answer_body(self.vendor, outcome)
                out.append({"custom_id": key, "response": {"status_code": 200, "request_id": f"r-{key}", "body": body}})
            elif isinstance(outcome, int) and not is_output:
                body = {"error": {"message": "no", "type": "server_error"}}
                out.append({"custom_id": key, "response": {"status_code": outcome, "body": body}})
            elif outcome is None and not is_output:
                out.append({"custom_id": key, "response": None, "error": {"code": "batch_expired", "message": "late"}})
        return http_reply("\n".join(json.dumps(line) for line in out).encode())

    def openai_batch(self, batch: Batch) -> dict[str, Any]:
        files = {"output_file_id": f"{batch.id}-output", "error_file_id": f"{batch.id}-errors"}
        status = {"status": "completed", **files} if self.ended(batch) else {"status": "in_progress"}
        if self.fails:
            self.fails -= 1
            status = {"status": "failed", "errors": {"data": [{"message": "Enqueued token limit reached"}]}}
        return {"id": batch.id, "metadata": {"roundtable": batch.name}, **status}

    def google(self, seen: Seen, path: str) -> WireReply:
        assert seen.headers["x-goog-api-key"] == "secret-key"
        if seen.method == "POST":
            assert path.startswith("/v1beta/models/")
            assert path.endswith(":batchGenerateContent")
            wanted: Any = seen.json["batch"]
            calls = {one["metadata"]["key"]: one["request"] for one in wanted["inputConfig"]["requests"]["requests"]}
            made = self.accept(calls, wanted["displayName"])
            return made if isinstance(made, WireReply) else sent(self.google_batch(made))
        if path == "/v1beta/batches":
            return sent({"operations": [self.google_batch(batch) for batch in self.batches[::-1]]})
        made = self.look(path.removeprefix("/v1beta/"))
        return made if isinstance(made, WireReply) else sent(self.google_batch(made))

    def google_batch(self, batch: Batch) -> dict[str, Any]:
        state = "BATCH_STATE_SUCCEEDED" if self.ended(batch) else "BATCH_STATE_RUNNING"
        operation = {"name": batch.id, "metadata": {"state": state, "displayName": batch.name}}
        if not self.ended(batch):
            return operation
        answers = []
        for key, outcome in self.outcomes(batch):
            match outcome:
                case str():
                    found: dict[str, Any] = {"response": answer_body("google", outcome)}
                case int():
                    found = {"error": {"code": {400: 3, 529: 14}[outcome], "message": "no"}}
                case None:
                    found = {"error": {"code": 4, "message": "late"}}
            answers.append({**found, "metadata": {"key": key}})
        return {**operation, "done": True, "response": {"inlinedResponses": {"inlinedResponses": answers}}}


def sent(document: Any, status: int = 200) -> WireReply:
    return http_reply(json.dumps(document).encode(), status=status)
