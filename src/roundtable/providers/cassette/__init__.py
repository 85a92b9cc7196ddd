"""Cassettes: record calls to a file, and replay them without a network."""

from roundtable.providers.cassette.cassette import Cassette, CassetteMode, ReplayProvider
from roundtable.providers.cassette.model import RecordedModel

__all__ = ["Cassette", "CassetteMode", "RecordedModel", "ReplayProvider"]
