"""Calls of tools and analyses over several services: where each goes, and how tables are brought together."""
