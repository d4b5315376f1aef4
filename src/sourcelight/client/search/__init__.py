"""One search of a client: its query, its run, and the result that it gives.

Methods of clients are one room up, in `searches` and `counts`; tables and drawings are in `sourcelight.display`. Start
at `search_run`, then at `result`.
"""
