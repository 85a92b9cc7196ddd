"""One OpenTelemetry trace for all debates of a job, on all machines; nothing without the package `opentelemetry`."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from roundtable._version import __version__

if TYPE_CHECKING:
    from collections.abc import Generator

    from roundtable.fleet.jobs import Job

__all__ = ["job_traced", "within_trace"]

_VERSION: Final = "00"
_SAMPLED: Final = 1


def job_traced(job: Job) -> Job:
    """Return a job with the trace that its debates belong to, in the form of the W3C's header `traceparent`.

    If this program traces, that is the trace of the current span, with a span for the job. Otherwise it is a new trace
    whose id follows from the job, since workers may trace all the same.
    """
    trace_id, span_id, flags = int(job.nonce, 16), int(sha256(job.nonce.encode()).hexdigest()[:16], 16), _SAMPLED
    if _is_loaded():
        from opentelemetry import trace

        attributes: dict[str, str | int] = {
            "roundtable.fleet": job.fleet,
            "roundtable.job": job.name,
            "roundtable.debates": job.debates,
        }
        span = trace.get_tracer("roundtable", __version__).start_span("fleet job", attributes=attributes)
        span.end()
        context = span.get_span_context()
        if context.is_valid:
            trace_id, span_id, flags = context.trace_id, context.span_id, context.trace_flags
    return job.model_copy(update={"trace": f"{_VERSION}-{trace_id:032x}-{span_id:016x}-{flags:02x}"})


@contextmanager
def within_trace(job: Job) -> Generator[None]:
    """Make the spans that begin within the block part of the trace of a job."""
    if job.trace is None or not _is_loaded():
        yield
        return
    from opentelemetry import context, trace

    _, trace_id, span_id, flags = job.trace.split("-")
    parent = trace.SpanContext(
        int(trace_id, 16), int(span_id, 16), is_remote=True, trace_flags=trace.TraceFlags(int(flags, 16))
    )
    token = context.attach(trace.set_span_in_context(trace.NonRecordingSpan(parent)))
    try:
        yield
    finally:
        context.detach(token)


def _is_loaded() -> bool:
    """Check whether this program traces: its tracer provider, or the observer `otel`, has loaded the package."""
    return "opentelemetry.trace" in sys.modules
