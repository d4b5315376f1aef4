"""What indexes of any kind need of the machine: worker processes, locks between processes, faults in words.

Knows no repository and no index.
"""
