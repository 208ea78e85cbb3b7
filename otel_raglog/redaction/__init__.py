"""What leaves the machine: requests to the same requests without what must not be read elsewhere."""
