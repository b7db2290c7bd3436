"""What noise is: pure, synchronous, without I/O. Imports none of the project's other packages."""
