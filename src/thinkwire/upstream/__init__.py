"""The lean HTTP/1.1 client towards the backends: one connection, and the pool that keeps them."""
