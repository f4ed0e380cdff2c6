# Classes of the extension for several devices (tinyjax.core.devices), which the core only names.

from tinyjax._extensions.parallel.communication import Communication as Communication
from tinyjax._extensions.parallel.layout import Format as Format
from tinyjax._extensions.parallel.sharded_array import Shard as Shard
from tinyjax._extensions.parallel.sharding import Sharding as Sharding
