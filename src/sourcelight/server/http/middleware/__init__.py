"""The way of every request: host and size checks, headers, the access log, metrics.

No middleware changes or buffers a body, so streams pass through unchanged. Start with `guards`.
"""
