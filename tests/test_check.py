"Every registered layer passes `check_layer` whole, with what takes a notebook too long: compilers and costs."
import pytest

from reformer_rnn.all import attention_layers, check_layer

@pytest.mark.parametrize('name', attention_layers)
def test_report_card(name):
    cls = attention_layers[name]
    report = check_layer(lambda d_model: cls(d_model, 3, max_len=32), 12, causal=cls.recurrent)
    assert report.passed, report
    assert not {'compile', 'export'} & set(report.having('skipped')), report
