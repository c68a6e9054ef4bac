"""Diagnosis of the connections and permissions that a configuration needs."""
