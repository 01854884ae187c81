"""Check: are these readings almost periodic, and with which period? For the custodian's eyes."""
