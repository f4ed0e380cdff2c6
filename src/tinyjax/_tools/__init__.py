"""Tools that no program needs: the explorer, and what freezes programs.

They may import everything but what stands for JAX; nothing imports them but their public names.
"""
