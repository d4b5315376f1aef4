"""Deep search over HTTP: conversations as JSON, and the events of a question as a stream.

`engines.deepsearch` decides who may read and change a conversation, and `server.identity` who sends a request. Start
with `api`.
"""
