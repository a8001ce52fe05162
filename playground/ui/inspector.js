// The step inspector.
