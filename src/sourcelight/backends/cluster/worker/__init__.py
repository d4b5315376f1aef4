"""The worker's side of a cluster: shards on its disk, engines over them, and the answers to requests.

Which worker gets a request, and the merge of answers, is the coordinator's work. Start with `handler`, then `search`
and `tool_calls`.
"""
