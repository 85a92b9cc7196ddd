"""The fold of a session's events, and the chain of hashes that protects them."""
