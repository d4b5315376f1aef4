"""Tools for analysts in notebooks: `DataFrame.code`, magics, figures and reports.

This room calls clients and draws; it never imports an engine or a server. Plain result views are in
`display.notebook`. Start reading in `reports/report` and `plots/figure`.
"""
