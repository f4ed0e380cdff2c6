"""Chemistry: chemicals, thermo."""

from typing import Any, Final

from chemicals import heat_capacity, iapws, rachford_rice, vapor_pressure
from thermo import NRTL, PR, Wilson
from thermo.nrtl import NRTL_gammas

from packages.row import Row

KELVINS: Final = (320.0, 350.0, 380.0)
WAGNER: Final = (190.53, 4596420.0, -6.00435, 1.1885, -0.834082, -1.22833)
SHOMATE: Final = (30.092, 6.832514e-3, 6.793435e-6, -2.53448e-9, 0.082139e6)
ALPHAS: Final = [[0.0, 0.2974], [0.2974, 0.0]]


def activity(x: Any) -> Any:
    taus = [[0.0, -0.178], [1.963, 0.0]]
    return NRTL_gammas(xs=[x, 1.0 - x], taus=taus, alphas=ALPHAS)[0]


def excess(kelvin: Any) -> Any:
    taus = [[0.0, -61.02], [673.2, 0.0]]
    return NRTL(T=kelvin, xs=[0.25, 0.75], tau_bs=taus, alpha_cs=ALPHAS).GE()


def wilson(kelvin: Any) -> Any:
    return Wilson(T=kelvin, xs=[0.25, 0.75], lambda_bs=[[0.0, -100.0], [-200.0, 0.0]]).gammas()[0]


ROWS: Final = (
    Row(
        "chemicals",
        "Antoine",
        lambda t: vapor_pressure.Antoine(t, 8.95894, 510.595, -15.95),
        (300.0, 350.0, 250.0),
    ),
    Row("chemicals", "Wagner", lambda t: vapor_pressure.Wagner(t, *WAGNER), (100.0, 150.0, 120.0)),
    Row(
        "chemicals",
        "Shomate",
        lambda t: heat_capacity.Shomate(t, *SHOMATE),
        (500.0, 900.0, 1500.0),
    ),
    Row(
        "chemicals",
        "flash_inner_loop",
        lambda k: rachford_rice.flash_inner_loop([0.5, 0.3, 0.2], [k, 0.4, 0.25])[0],
        (3.5, 3.8, 4.2),
    ),
    Row(
        "chemicals",
        "iapws95_rho",
        lambda t: iapws.iapws95_rho(t, 1e5),
        (330.0, 350.0, 360.0),
        tolerance=1e-4,
    ),
    Row(
        "thermo",
        "PR.V_g",
        lambda t: PR(Tc=507.6, Pc=3025000.0, omega=0.2975, T=t, P=1e5).V_g,
        (400.0, 420.0, 450.0),
    ),
    Row("thermo", "NRTL_gammas", activity, (0.25, 0.5, 0.7)),
    Row("thermo", "NRTL.GE", excess, KELVINS),
    Row("thermo", "Wilson.gammas", wilson, KELVINS),
)
