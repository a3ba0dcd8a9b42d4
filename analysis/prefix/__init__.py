"""Prefix caches: which leading blocks of prompts a cache holds, by its size and its reach."""
