"""Where an agent host meets ctxrepo: its events on stdin, our answer on stdout, its settings file."""
