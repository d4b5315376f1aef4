"""Dask's servers and sockets: the only room that knows them.

No message has a meaning here, and no worker is chosen. `worker.handlers` and the comms are what Dask's own shuffle
uses, half public: a contract test runs against the installed version. Start with `connections`.
"""
