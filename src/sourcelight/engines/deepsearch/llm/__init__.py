"""The researcher that asks a language model: any provider by name, any server that speaks as OpenAI's does.

The model's library (extra ``llm``) is imported here alone, and only when this room is chosen. The model reads through
the same tools as everyone, with the asker's permissions; what it cites is checked as every citation is.
"""
