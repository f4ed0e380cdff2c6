"""Tools that no program needs: the explorer, and hooks for freezing programs.

They may import everything but what stands for JAX; nothing imports them but their public names.
"""
