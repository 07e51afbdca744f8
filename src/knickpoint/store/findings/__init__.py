"""Change points, the changes that they form, and what people and alerts decided about them."""
