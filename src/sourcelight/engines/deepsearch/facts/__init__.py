"""Facts that a question asks for: counted by the engine that knows them, each with the call that gives it again."""
