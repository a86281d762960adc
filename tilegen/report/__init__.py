"""What verification and metrics say, as text tables and as values of JSON."""

from tilegen.report.measurement import MetricsTable, measure_schedules
from tilegen.report.table import Column, Table
from tilegen.report.verification import VerifyReports, with_metrics

__all__ = ["Column", "MetricsTable", "Table", "VerifyReports", "measure_schedules", "with_metrics"]
