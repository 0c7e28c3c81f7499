"""Step 1: YAML text to located nodes, comments and edits of the original text."""
