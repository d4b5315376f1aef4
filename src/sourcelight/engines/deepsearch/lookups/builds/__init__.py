"""Lookups in manifests and other build files: packages and their versions, fields, scripts and options."""
