"""Fields of manifests that a question names.

`values` finds what a manifest has of a license, version, feature, script or program, `licenses` the license that a file
at the top grants, and `runtimes` the version of a language that is required. Lists of packages live in
`dependency_lists`.
"""
