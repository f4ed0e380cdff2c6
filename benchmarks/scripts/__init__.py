"""Short programs of people's kinds, each a whole process, written once for JAX and tinyjax."""
