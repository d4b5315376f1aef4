"""Terms of ranked search: how a text is cut into them, and the file that has those of a shard.

Nothing here scores or knows a question. Start at `tokenizer` and `chunker`, then at `term_table`, which `term_files`
keeps on disk.
"""
