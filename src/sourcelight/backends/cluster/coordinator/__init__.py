"""Ask workers: who is alive, streams of their answers, failover, and the merge of many answers into one.

The layers above interpret requests, and sockets are in `transport`. Start with `members` for workers and replicas,
then `streams` for searches and `requests` for tools.
"""
