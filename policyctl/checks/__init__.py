"""Value checks in plain Python, shared by the model and the runtime."""
