"""The lab: simulated thinking models behind every wire, spoken as their providers speak it.

It is the other end of the line: what a gateway or a client is pointed at when no account is wanted, and what judges
the conversion. So it is written from what providers document and send, and knows nothing of thinkwire's own codecs. A
test holds it to that.

    request ─▶ setting (persona and options, from the path) ─▶ speaker.read ─▶ the persona's rules ─▶ Turn
                                                                    │                 │             │
                                                                    └─────▶ Refused ◀─┘             │
    bytes ◀─ delivery ◀─ fault, if one was asked for ◀─ speaker.pieces ◀─ Reply ◀─ mind ◀───────────┘

Nothing is remembered but the last requests: what a provider must know later is in the seals that it gives away.
"""
