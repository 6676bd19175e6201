"""The gateway: any client protocol in, any backend out. The only part of the library that opens connections."""
