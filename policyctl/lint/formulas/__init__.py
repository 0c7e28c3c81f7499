"""The formulas of the lint reference, one small pure function each."""
