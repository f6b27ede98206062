"""One check per file; the file is named like its code, with _ for -."""
