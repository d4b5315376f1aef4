"""Lookups in manifests and other build files: packages and their versions, fields, scripts and options.

Start with `answering`. `manifest_files` finds the manifests that all lookups here read.
"""
