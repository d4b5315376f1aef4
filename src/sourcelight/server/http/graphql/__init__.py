"""A small read-only GraphQL endpoint, for clients that need more than the stream: ``src login``, ``src repos list``.

It answers who the caller is, searches, repositories, and their commits, directories and files; it changes nothing. The
rest of the public API is refused with a message about what to use. It needs the extra ``graphql``. Start with `schema`,
then `endpoint`.
"""
