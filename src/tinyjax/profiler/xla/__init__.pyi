# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax.profiler.xla.attaching import attach as attach
from tinyjax.profiler.xla.profiles import OpEvent as OpEvent
from tinyjax.profiler.xla.profiles import Profile as Profile
from tinyjax.profiler.xla.profiles import SpanEvent as SpanEvent
from tinyjax.profiler.xla.profiles import annotation as annotation
from tinyjax.profiler.xla.profiles import profile_of as profile_of
from tinyjax.profiler.xla.profiles import read_profile as read_profile
from tinyjax.profiler.xla.profiles import start_profile as start_profile

__all__ = [
    'OpEvent',
    'Profile',
    'SpanEvent',
    'annotation',
    'attach',
    'profile_of',
    'read_profile',
    'start_profile',
]
