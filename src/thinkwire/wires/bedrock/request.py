def decode_request(*a):
    raise NotImplementedError


def encode_request(*a):
    raise NotImplementedError
