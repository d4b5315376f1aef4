"""Results as tables, text, HTML and files.

This room turns record batches and tool results into DataFrames (`frames`) and into notebook output (`notebook`). It
calls no client, backend or engine; `lab` draws figures and reports. Start reading in `frames/tables` and
`notebook/result_view`.
"""
