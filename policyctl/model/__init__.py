"""The validated model of a policy document: one file per pattern."""
