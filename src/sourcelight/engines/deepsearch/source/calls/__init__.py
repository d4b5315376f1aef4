"""Forms of calls in lines of code: by language, in templates, and the code of a line without its texts.

Nothing here knows a question or a definition. `source.call_forms` decides by these forms whether a line calls a name.
Start with `forms`.
"""
