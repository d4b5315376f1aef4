"""Making shards: on one machine for one repository, and on the workers of a cluster for many."""
