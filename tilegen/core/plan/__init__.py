"""The plan: which thread of which block touches which element, phase by phase."""
