"""Programs written with sharedoa: ports of the paper's workloads, faithful and natural."""
