"""One check per module; the module name is the code with _ for -."""
