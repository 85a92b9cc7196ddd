"""One OpenTelemetry trace for all debates of a job, on all machines; does nothing in programs that don't trace."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from roundtable.fleet.jobs import Job

__all__ = ["job_traced", "within_trace"]


def job_traced(job: Job) -> Job:
    """Return a job with the trace that its debates belong to, in the format of the W3C header `traceparent`.

    If this program traces, that is the trace of the current span, with a span for the job. Otherwise workers may still
    trace, so the job gets a new trace whose id is derived from the job; the workers' samplers decide whether the trace
    is recorded.
    """
    traceparent = None
    if _is_loaded():
        from roundtable.plugins.otel import mark

        attributes: dict[str, str | int] = {
            "roundtable.fleet": job.fleet,
            "roundtable.job": job.name,
            "roundtable.debates": job.debates,
        }
        traceparent = mark("fleet job", attributes)
    if traceparent is None:
        # The flags have no effect: the samplers of the workers decide whether the trace is recorded.
        traceparent = f"00-{job.nonce}-{sha256(job.nonce.encode()).hexdigest()[:16]}-00"
    return job.model_copy(update={"trace": traceparent})


def within_trace(job: Job) -> AbstractContextManager[None]:
    """Make the spans that begin within a block part of the trace of a job."""
    if job.trace is None or not _is_loaded():
        return nullcontext()
    from roundtable.plugins.otel import within

    return within(job.trace, is_decided=job.trace.split("-")[1] != job.nonce)


def _is_loaded() -> bool:
    """Check whether this program traces: its tracer provider or the observer `otel` has loaded OpenTelemetry."""
    return "opentelemetry.trace" in sys.modules
