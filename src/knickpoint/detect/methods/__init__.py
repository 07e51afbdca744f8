"""One module a method: ``detect_NAME(values, **parameters) -> Detection``, and its presets."""
