"""Change points, the regressions that they form, and what people and alerts decided about them."""
