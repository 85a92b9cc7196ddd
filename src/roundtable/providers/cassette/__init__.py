"""Recording calls to a file, and giving them back without a network."""

from roundtable.providers.cassette.cassette import Cassette, CassetteMode
from roundtable.providers.cassette.replay import ReplayProvider
from roundtable.providers.cassette.taped import TapedModel

__all__ = ["Cassette", "CassetteMode", "ReplayProvider", "TapedModel"]
