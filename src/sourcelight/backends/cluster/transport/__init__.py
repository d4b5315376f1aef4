"""Dask's servers and sockets, and nothing else: the one room that knows them.

`worker.handlers` and the comms are what Dask's own shuffle is built on, half public: what is used here has a contract
test that runs against the installed version.
"""
