"""How much of a step lies in the middle of a window: the kinds of fit, and rules that combine them."""
