"""Prints how long the programs took on either."""

from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    reports = [r for r in terminalreporter.getreports("passed") if r.user_properties]
    if not reports:
        return
    terminalreporter.section("seconds: import and first result, later results")
    for report in sorted(reports, key=lambda r: r.nodeid):
        parts = [
            f"{name} {seconds['load'] + seconds['first']:6.2f} {seconds['later']:8.4f}"
            for name, seconds in report.user_properties
        ]
        terminalreporter.line(f"{report.nodeid.partition('[')[2][:-1]:28} {'   '.join(parts)}")
