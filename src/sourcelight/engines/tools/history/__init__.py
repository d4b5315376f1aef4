"""What the tools and analyses of history are made of: opened histories, filters, tables, and the work of each."""
