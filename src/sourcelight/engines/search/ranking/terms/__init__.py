"""Terms of ranked search: the tokenizer, and the file with the terms of a shard.

Nothing here scores or knows a question. Start at `tokenizer` and `chunker`, then at `term_table`, which `term_files`
keeps on disk.
"""
