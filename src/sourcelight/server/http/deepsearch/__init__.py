"""Deep search over HTTP, as clients of the service know it: conversations as JSON, and progress as events.

Who may read and change what is the desk's to decide (`engines.deepsearch`); who asks is `server.identity`'s.
"""
