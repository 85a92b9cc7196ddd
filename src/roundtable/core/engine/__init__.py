"""The loop of a debate: plan, take turns, store, measure, go on; its journal, its lease and its events."""
