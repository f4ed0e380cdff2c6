"""XLA: devices, compiled programs and their caches. The only room that imports jaxlib."""
