"""The turn of an agent: compose the prompt, call the model, parse its answer, and ask once more where that helps."""
