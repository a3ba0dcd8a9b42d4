"""The monthly report: the figures of one month, as a workbook, a page and plain tables."""
