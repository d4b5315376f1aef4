"""Codecs between record batches and the JSON of the stream, in both directions.

The columns are in `sourcelight.core.batches.schema`, and the bytes around the JSON in `sourcelight.core.wire`. Start at
`encode` and `decode`; `wire_columns` has the shared code for plain columns.
"""
