%%born harmonics
from pytide.harmonics import ARDVIK, predict_tide, residual


def test_the_tide_stays_below_the_sum_of_amplitudes():
    top = sum(constituent.amplitude_mm for constituent in ARDVIK)
    assert all(abs(predict_tide(hour)) <= top for hour in range(24 * 30))


def test_no_surge_on_a_calm_day():
    assert residual(predict_tide(7.0), 7.0) == 0
