"""The exit codes that scripts may rely on."""

FAULTS_FOUND = 1
BAD_INPUT = 2
INTERRUPTED = 130
