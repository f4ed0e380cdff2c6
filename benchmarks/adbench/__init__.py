"""The problems of ADBench and GradBench, written from their published descriptions.

Šrajer, Kukelova and Fitzgibbon, "A benchmark of selected algorithmic differentiation tools on some
problems in computer vision and machine learning" (2018), and the pages of GradBench. The data are
made by seeded generators, of published sizes. Single precision, as all rows.
"""
