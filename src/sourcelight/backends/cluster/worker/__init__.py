"""What runs on a worker: shards on its disk, the engine over them, and the answers to what is asked over the wire."""
