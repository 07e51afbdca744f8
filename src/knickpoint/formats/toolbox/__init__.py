"""What readers of formats share: decoding, JSON nodes with their path, numbers, timestamps, rows of results."""
