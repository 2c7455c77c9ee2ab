"""The same workloads with this project and with other tools, in one run on one machine."""
