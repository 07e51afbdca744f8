"""What is known beside a results file: its sidecar, the variables of the CI, the files that its format asks for."""
