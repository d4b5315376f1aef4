"""Asking workers: who is there, streams of their answers, failover, and one answer out of many."""
