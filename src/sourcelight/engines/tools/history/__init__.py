"""Handlers of tools about history.

The engine of histories is `sourcelight.engines.history`; definitions are in `sourcelight.core.tools`. Start
at `histories`, which opens the histories of a call, then at `commits`, the simplest handler.
"""
