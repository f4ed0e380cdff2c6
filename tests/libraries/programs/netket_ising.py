"""NetKet: the ground state of an Ising chain by a restricted Boltzmann machine."""

import netket as nk
import numpy as np

TOLERANCE = 1e-3


def main():
    graph = nk.graph.Chain(6, pbc=True)
    space = nk.hilbert.Spin(0.5, graph.n_nodes)
    hamiltonian = nk.operator.Ising(space, graph, h=1.0)
    sampler = nk.sampler.MetropolisLocal(space, n_chains=8)
    state = nk.vqs.MCState(sampler, nk.models.RBM(alpha=1), n_samples=64, seed=1, sampler_seed=2)
    driver = nk.VMC(
        hamiltonian,
        nk.optimizer.Sgd(0.05),
        variational_state=state,
        preconditioner=nk.optimizer.SR(diag_shift=0.1),
    )
    driver.run(3, show_progress=False)
    found = state.expect(hamiltonian)
    return {
        "energy": np.asarray(found.mean),
        "error": np.asarray(found.error_of_mean),
        "exact": np.asarray(nk.exact.lanczos_ed(hamiltonian)),
    }
