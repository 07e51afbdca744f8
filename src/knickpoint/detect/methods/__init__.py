"""One package for each detection method; its module ``method`` declares the method as ``METHOD``."""
