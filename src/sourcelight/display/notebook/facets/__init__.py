"""The facet panel: the filters that a service suggests, with counts, to tick; the query that results is shown.

anywidget is loaded with `panel` alone.
"""
