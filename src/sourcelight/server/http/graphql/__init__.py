"""A small read-only GraphQL endpoint, for clients that ask it beside the stream: ``src login``, ``src repos list``.

It answers who the caller is, searches, repositories, and their commits, directories and files; it changes nothing.
Everything else of the public API is refused in a sentence that says what to use. It needs the extra ``graphql``. Start
with `schema`, then `endpoint`.
"""
