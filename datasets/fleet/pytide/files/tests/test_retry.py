%%born retry
from pytide.retry import RetryPolicy


def test_delays_double():
%%if retry-jitter
    delays = list(RetryPolicy(attempts=3, first_s=1).delays())
    assert all(0.5 * 2**i <= delay <= 1.5 * 2**i for i, delay in enumerate(delays))
%%else
    assert list(RetryPolicy(attempts=3, first_s=1).delays()) == [1, 2, 4]
%%end
