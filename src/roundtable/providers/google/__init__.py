"""The dialect of Google's generateContent."""

from __future__ import annotations

from roundtable.providers.google.dialect import GoogleGenerate

__all__ = ["GoogleGenerate"]
