"""The sixth set: frames, plates, elastic tensors, and large deformations."""

import warnings
from typing import Any, Final

import calfem.core as calfem
import felupe
import numpy as np
from anastruct import SystemElements
from elasticipy.tensors.elasticity import StiffnessTensor
from elasticipy.tensors.stress_strain import StrainTensor, StressTensor
from scipy.spatial.transform import Rotation

from packages.row import Row

warnings.filterwarnings("ignore")

LOADS: Final = (np.array([10.0, 4.0]), np.array([6.0, 2.5]), np.array([17.0, 3.2]))
MODULI: Final = (
    np.array([186.0, 134.0, 77.0]),
    np.array([240.0, 120.0, 120.0]),
    np.array([169.0, 122.0, 75.0]),
)
STRESSES: Final = (
    np.array([3.0, -1.0, 0.5, 0.7, 0.2, -0.4]),
    np.array([1.0, 2.0, -0.5, 0.1, 0.9, 0.3]),
    np.array([-2.0, 0.4, 1.5, -0.6, 0.5, 0.8]),
)
#: Integrates distributed loads.
CYTHON: Final = "anastruct.fem.cython.celements"
RUBBERS: Final = (np.array([1.0, 5.0]), np.array([0.7, 2.0]), np.array([1.6, 9.0]))


def portal(load: Any) -> Any:
    frame = SystemElements(EA=15000.0, EI=5000.0)
    frame.add_element(location=[[0.0, 0.0], [0.0, 5.0]])
    frame.add_element(location=[[0.0, 5.0], [5.0, 5.0]])
    frame.add_element(location=[[5.0, 5.0], [5.0, 0.0]])
    frame.add_support_fixed(node_id=1)
    frame.add_support_hinged(node_id=4)
    frame.point_load(node_id=2, Fx=load[0])
    frame.q_load(q=-load[1], element_id=2)
    frame.solve()
    node = frame.get_node_displacements(node_id=2)
    return 10.0 * node["ux"] + frame.get_element_results(element_id=2)["Mmax"]


def truss(load: Any) -> Any:
    bridge = SystemElements(EA=5000.0)
    for start, end in (([0, 0], [2, 3]), ([2, 3], [4, 0]), ([0, 0], [4, 0])):
        bridge.add_truss_element(location=[start, end])
    bridge.add_support_hinged(node_id=1)
    bridge.add_support_roll(node_id=3, direction="x")
    bridge.point_load(node_id=2, Fx=load[1], Fy=-load[0], rotation=5.0)
    bridge.solve()
    return (
        bridge.get_element_results(element_id=1)["Nmax"] + bridge.get_node_results_system(1)["Fy"]
    )


def section(size: Any) -> Any:
    beam = SystemElements()
    beam.add_element(location=[[0.0, 0.0], [4.0, 0.5]], EA=800.0 * size[0], EI=90.0 * size[0])
    beam.add_element(location=[[4.0, 0.5], [9.0, 0.0]], EA=7000.0, EI=300.0 * size[1])
    beam.add_support_hinged(node_id=1)
    beam.add_support_spring(node_id=2, translation=2, k=50.0 * size[1])
    beam.add_support_roll(node_id=3)
    beam.moment_load(node_id=2, Ty=12.0)
    beam.q_load(q=[-3.0, -5.0], element_id=1)
    beam.solve()
    return (
        beam.get_element_results(element_id=1)["Mmin"] + 10.0 * beam.get_node_displacements(2)["uy"]
    )


def slender(load: Any) -> Any:
    column = SystemElements(EA=9000.0, EI=400.0)
    column.add_multiple_elements([[0.0, 0.0], [0.0, 6.0]], 3)
    column.add_support_fixed(node_id=1)
    column.point_load(node_id=4, Fx=0.1 * load[1], Fy=-load[0] / 10.0)
    column.solve(geometrical_non_linear=True)
    return 100.0 * column.get_node_displacements(4)["ux"]


def bars(load: Any) -> Any:
    edof = np.array([[1, 2, 5, 6], [5, 6, 7, 8], [3, 4, 5, 6]])
    ex = np.array([[0.0, 1.6], [1.6, 1.6], [0.0, 1.6]])
    ey = np.array([[0.0, 0.0], [0.0, 1.2], [1.2, 0.0]])
    stiffness = np.zeros((8, 8))
    forces = np.zeros((8, 1))
    forces[5] = -8.0 * load[0]
    for dofs, x, y in zip(edof, ex, ey, strict=True):
        stiffness = calfem.assem(dofs, stiffness, calfem.bar2e(x, y, [200.0, load[1]]))
    moves, reactions = calfem.solveq(stiffness, forces, np.array([1, 2, 3, 4, 7, 8]))
    displacements = calfem.extract_eldisp(edof, moves)
    normal, _ = calfem.bar2s(ex[2], ey[2], [200.0, load[1]], displacements[2])
    return np.sum(reactions**2) / 1000.0 + normal[0] + 10.0 * moves[5, 0]


def heated(load: Any) -> Any:
    edof = np.array([[1, 2, 3], [2, 4, 3], [3, 4, 5]])
    ex = np.array([[0.0, 1.0, 0.0], [1.0, 1.1, 0.0], [0.0, 1.1, 0.2]])
    ey = np.array([[0.0, 0.0, 1.0], [0.0, 1.2, 1.0], [1.0, 1.2, 2.1]])
    conductivity = np.diag([load[0], load[1]])
    matrix, forces = np.zeros((5, 5)), np.zeros((5, 1))
    for dofs, x, y in zip(edof, ex, ey, strict=True):
        element, source = calfem.flw2te(x, y, [0.1], conductivity, 20.0)
        calfem.assem(dofs, matrix, element, forces, source)
    temperatures, flows = calfem.solveq(matrix, forces, np.array([1, 5]), np.array([10.0, 2.0]))
    return np.sum(temperatures) + flows[0, 0]


def wall(load: Any) -> Any:
    x, y = np.array([0.0, 2.0, 2.1, 0.1]), np.array([0.0, 0.1, 1.4, 1.2])
    hooke = calfem.hooke(1, 10.0 * load[0], 0.05 * load[1])
    stiffness, forces = calfem.plani4e(x, y, [1, 0.2, 2], hooke, np.array([0.3, -1.0]))
    moves, _ = calfem.solveq(stiffness, forces, np.array([1, 2, 7, 8]))
    stresses, _ = calfem.plani4s(x, y, [1, 0.2, 2], hooke, moves.ravel())
    mises = calfem.effmises(stresses[:1, :3], 1)
    return np.sum(mises) + 100.0 * moves[2, 0]


def cubic(modulus: Any) -> Any:
    stiffness = StiffnessTensor.cubic(C11=modulus[0], C12=modulus[1], C44=modulus[2])
    young = stiffness.Young_modulus.eval([1.0, 2.0, 0.5])
    poisson = stiffness.Poisson_ratio.eval([1.0, 0.0, 0.0], [0.0, 1.0, 1.0])
    return young + 10.0 * poisson + stiffness.universal_anisotropy


def averaged(modulus: Any) -> Any:
    stiffness = StiffnessTensor.hexagonal(
        C11=modulus[0], C12=0.5 * modulus[1], C13=0.4 * modulus[1], C33=1.1 * modulus[0],
        C44=modulus[2],
    )  # fmt: skip
    hill = stiffness.Hill_average()
    fast, middle, slow = stiffness.wave_velocity(4.5)
    direction = [0.3, 0.5, 1.0]
    speeds = fast.eval(direction) + middle.eval(direction) + slow.eval(direction)
    return hill.matrix()[0, 0] + stiffness.inv().matrix()[0, 0] * 1e4 + speeds


def yielded(stress: Any) -> Any:
    tensor = StressTensor.from_Voigt(stress)
    turned = tensor.rotate(Rotation.from_euler("zxz", [0.3, 0.5, 0.2]))
    return tensor.vonMises() + tensor.Tresca() + turned.C[0, 1] + tensor.triaxiality()


def strained(stress: Any) -> Any:
    strain = StrainTensor([[0.1, 0.02, 0.0], [0.02, -0.05, 0.01], [0.0, 0.01, 0.03]])
    stiffness = StiffnessTensor.isotropic(E=200.0 + stress[0], nu=0.3 + 0.01 * stress[1])
    tensor = stiffness * strain + StressTensor.from_Voigt(0.1 * stress)
    return tensor.vonMises() + strain.elastic_energy(tensor) + (stiffness.inv() * tensor).I2


def pulled(rubber: Any) -> Any:
    region = felupe.RegionHexahedron(felupe.Cube(n=3))
    field = felupe.FieldContainer([felupe.Field(region, dim=3)])
    boundaries, loadcase = felupe.dof.uniaxial(field, clamped=True, move=0.2, return_loadcase=True)
    solid = felupe.SolidBody(felupe.NeoHooke(mu=rubber[0], bulk=rubber[1]), field)
    felupe.newtonrhapson(items=[solid], verbose=0, tol=1e-10, **loadcase)
    force = felupe.tools.force(field, solid.assemble.vector(), boundaries["move"])
    return np.sum(force * [1.0, 2.0, 3.0]) + 10.0 * np.sum(field[0].values ** 2)


def stretched(rubber: Any) -> Any:
    region = felupe.RegionHexahedron(felupe.Cube(n=2))
    field = felupe.FieldContainer([felupe.Field(region, dim=3)])
    field[0].values[:] = 0.1 * rubber[0] * np.sin(np.arange(24.0)).reshape(8, 3)
    solid = felupe.SolidBody(felupe.NeoHooke(mu=1.0, bulk=rubber[1]), field)
    forces = solid.assemble.vector().toarray()
    return np.sum(forces**2) + np.sum(solid.assemble.matrix().toarray() ** 2) / 100.0


def material(rubber: Any) -> Any:
    gradient = np.eye(3) + 0.2 * np.cos(np.arange(9.0)).reshape(3, 3) * rubber[0]
    gradient = gradient[:, :, None, None]
    stress, _ = felupe.NeoHookeCompressible(mu=rubber[0], lmbda=rubber[1]).gradient(
        [gradient, None]
    )
    (tangent,) = felupe.LinearElasticLargeStrain(E=rubber[1], nu=0.3).hessian([gradient, None])[:1]
    return np.sum(stress**2) + np.sum(tangent**2) / 100.0


ROWS: Final = (
    Row("anastruct", "SystemElements.solve", portal, LOADS, compiled=CYTHON),
    Row("anastruct", "SystemElements.add_truss_element", truss, LOADS),
    Row("anastruct", "SystemElements.add_support_spring", section, LOADS, compiled=CYTHON),
    Row("anastruct", "SystemElements.solve of a slender column", slender, LOADS),
    Row("calfem-python", "bar2e", bars, LOADS),
    Row("calfem-python", "flw2te", heated, LOADS),
    Row("calfem-python", "plani4e", wall, LOADS),
    Row("elasticipy", "StiffnessTensor.Young_modulus", cubic, MODULI),
    Row("elasticipy", "StiffnessTensor.Hill_average", averaged, MODULI),
    Row("elasticipy", "StressTensor.vonMises", yielded, STRESSES),
    Row("elasticipy", "StrainTensor.elastic_energy", strained, STRESSES),
    Row("felupe", "newtonrhapson", pulled, RUBBERS),
    Row("felupe", "SolidBody.assemble", stretched, RUBBERS),
    Row("felupe", "NeoHookeCompressible.gradient", material, RUBBERS),
)
