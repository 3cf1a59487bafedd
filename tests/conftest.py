"""What every test may count on, however the run was started."""

import signal

# A shell starts its background jobs with ctrl-C ignored, and an ignored signal stays ignored in every child:
# a test that interrupts a command would wait for ever. A handler is reset to the default when a child starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
