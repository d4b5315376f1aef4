"""``type:commit`` and ``type:diff``: what is asked of histories, bringing them up to date, and their answers."""
