# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax._extensions.accuracy.estimates import Estimate as Estimate
from tinyjax._extensions.accuracy.estimates import estimate as estimate
from tinyjax._extensions.accuracy.reports import AccuracyReport as AccuracyReport
from tinyjax._extensions.accuracy.reports import report as report
from tinyjax._extensions.accuracy.shadows import digits as digits

__all__ = [
    'AccuracyReport',
    'Estimate',
    'digits',
    'estimate',
    'report',
]
