"""ConfigMap registries beside what their providers show: differences are findings, corrected on request."""
