"""Histograms: elements counted, or summed, by a key they hold."""
