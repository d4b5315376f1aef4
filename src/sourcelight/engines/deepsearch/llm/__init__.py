"""The researcher with a language model: a provider by name, or any server with OpenAI's interface.

Only this room imports the model's library (extra ``llm``), and only if a model is configured. The model uses the same
tools as other callers, with the viewer's permissions, and its citations are checked like all others. Start with
`researcher`.
"""
