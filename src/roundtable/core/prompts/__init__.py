"""Prompts: their layers, the fence around untrusted text, and the form of answers."""
