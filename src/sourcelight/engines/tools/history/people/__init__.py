"""Handlers of tools about people: their commits and lines, their identities, and whose lines survive.

Who is one person is decided in `sourcelight.engines.history.people`, never here. Start at `person_set`, which numbers
the people of several repositories, then at `change_groups`.
"""
