# What the plane answers (tinyjax.core.devices), for type checkers: the core itself knows no more.

from tinyjax.parallel.communication import Communication as Communication
from tinyjax.parallel.layout import Format as Format
from tinyjax.parallel.sharded_array import Shard as Shard
from tinyjax.parallel.sharding import Sharding as Sharding
