"Judge what a paper says by what was measured."
from reformer_rnn.runs.claim import at_least, at_most, between, verdict
from reformer_rnn.runs.interval import over_rounds, over_seeds, paired_bootstrap, share_of

found = over_seeds([.91, .93, .95])
print(f'{found:.1%}', found.low < found.value < found.high)
print(verdict(found, at_least(.5)), verdict(found, at_most(.5)), verdict(found, between(.9, .96)))
print(share_of([True, True, False]).n, over_rounds([1.1, 1.2, 1.3]).value)
better = paired_bootstrap([100., 120.], [110., 130.], [40, 50])
print(f'{better:.3f}')
