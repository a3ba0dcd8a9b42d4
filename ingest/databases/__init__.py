"""Databases of an operator as a source: LiteLLM's spend logs, or any table through a mapping.

Owns the only use of SQLAlchemy. Refuses to write to such a database, and to keep or show a
password.
"""
