"""kernel_machines."""
