"""Fleet: meters as a real head-end has them, with their faults, and an oracle that knows what must become of them.

- `town`: the homes, what they truly read, and the batches in which an honest head-end would send it.
- `faults`: what goes wrong on the way. One small class each, in a registry.
- `oracle`: which rows must be out, when, and with which readings; written from the rules, on its own.
- `desk`: the product, fed as the service feeds it, with a clock of its own and noise that is silent.
- `simulation`: all of them together, compared at every moment.
"""
