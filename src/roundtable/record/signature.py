"""Signatures of a log with a key of the user (Ed25519); needs the extra `sign`."""

from __future__ import annotations

import base64
import binascii
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from roundtable.core.errors import ConfigurationError
from roundtable.core.types.base import Value

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    from roundtable.core.record.chain import ChainHead

__all__ = ["LogSignature", "SignatureState", "check_signature", "sign_head"]

SignatureState = Literal["valid", "own", "other_key", "invalid"]
"""`valid`: signed with the given key. `own`: the signature fits the key in the file, and no key was given. `other_key`:
signed with another key. `invalid`: the signature does not fit the log."""

_CREATE_KEY = "Create a key with `openssl genpkey -algorithm ed25519 -out key.pem`."
_CREATE_PUBLIC_KEY = "Write the public key with `openssl pkey -in key.pem -pubout -out key.pub.pem`."


class LogSignature(Value):
    """A signature of the hash and the number of events of a log."""

    algorithm: Literal["ed25519"] = "ed25519"
    """Kind of the signature."""
    public_key: str
    """The public key of the signer, in Base64."""
    signature: str
    """The signature, in Base64."""


def sign_head(head: ChainHead, private_key: bytes) -> LogSignature:
    """Sign a log.

    Args:
        head: Hash and length of the log.
        private_key: An Ed25519 private key without a password, as PEM.

    Raises:
        ConfigurationError: `private_key` is not such a key, or the extra `sign` is missing.
    """
    _load_cryptography()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(private_key, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise ConfigurationError("this is not a private key, or it has a password", hint=_CREATE_KEY) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise ConfigurationError("the private key is not an Ed25519 key", hint=_CREATE_KEY)
    return LogSignature(
        public_key=_encode(key.public_key().public_bytes_raw()), signature=_encode(key.sign(_message(head)))
    )


def check_signature(signature: LogSignature, head: ChainHead, public_key: bytes | None = None) -> SignatureState:
    """Check a signature of a log.

    Args:
        signature: The signature.
        head: Current hash and length of the log.
        public_key: The signer's public key, as PEM. When left out, the key in the signature counts; anyone can replace
            that key.

    Raises:
        ConfigurationError: `public_key` is not an Ed25519 key as PEM, or the extra `sign` is missing.
    """
    _load_cryptography()
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    wanted = None if public_key is None else _read_public_key(public_key)
    try:
        named = base64.b64decode(signature.public_key, validate=True)
        Ed25519PublicKey.from_public_bytes(named).verify(
            base64.b64decode(signature.signature, validate=True), _message(head)
        )
    except (InvalidSignature, binascii.Error, ValueError):
        return "invalid"
    if wanted is None:
        return "own"
    return "valid" if wanted.public_bytes_raw() == named else "other_key"


def _read_public_key(text: bytes) -> Ed25519PublicKey:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(text)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise ConfigurationError("this is not a public key", hint=_CREATE_PUBLIC_KEY) from error
    if not isinstance(key, Ed25519PublicKey):
        raise ConfigurationError("the public key is not an Ed25519 key", hint=_CREATE_PUBLIC_KEY)
    return key


def _message(head: ChainHead) -> bytes:
    return f"roundtable session log\n{head.events}\n{head.hash}\n".encode()


def _encode(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _load_cryptography() -> None:
    """Load cryptography.

    Raises:
        ConfigurationError: The package is not installed.
    """
    try:
        import_module("cryptography")
    except ImportError as error:
        raise ConfigurationError(
            "signatures need cryptography, which is not installed",
            cause=error,
            hint="pip install 'roundtable-sdk[sign]'",
        ) from error
