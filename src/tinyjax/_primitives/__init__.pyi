# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax._primitives.bitcast import bitcast_convert_type as bitcast_convert_type
from tinyjax._primitives.bits import power as power
from tinyjax._primitives.cumulative import cumsum as cumsum
from tinyjax._primitives.gather_scatter import GatherDimensionNumbers as GatherDimensionNumbers
from tinyjax._primitives.gather_scatter import GatherParams as GatherParams
from tinyjax._primitives.gather_scatter import ScatterDimensionNumbers as ScatterDimensionNumbers
from tinyjax._primitives.gather_scatter import ScatterParams as ScatterParams
from tinyjax._primitives.gather_scatter import gather_p as gather_p
from tinyjax._primitives.gather_scatter import gather_windows as gather_windows
from tinyjax._primitives.gather_scatter import scatter_p as scatter_p
from tinyjax._primitives.gather_scatter import scatter_windows as scatter_windows

__all__ = [
    'GatherDimensionNumbers',
    'GatherParams',
    'ScatterDimensionNumbers',
    'ScatterParams',
    'bitcast_convert_type',
    'cumsum',
    'gather_p',
    'gather_windows',
    'power',
    'scatter_p',
    'scatter_windows',
]
