"""What an engine has room for, and what its calls need of it over time."""
