"""Batch APIs: calls at half the price, whose answers may take up to a day."""
