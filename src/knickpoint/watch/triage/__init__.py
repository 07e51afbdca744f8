"""Record what people decide about findings, the history boundary and tickets."""
