"""The pages: wiring of answers, charts and tables. No SQL and no arithmetic."""
