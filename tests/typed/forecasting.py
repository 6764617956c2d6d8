"Forecast a table with dates."
import numpy as np
import pandas as pd

from reformer_rnn.core import seed_everything
from reformer_rnn.data.outlook import draw_forecast
from reformer_rnn.training.forecast import forecast_learner

seed_everything(0)
days = pd.date_range('2022-01-01', periods=120)
df = pd.DataFrame(dict(day=days, coffee=80+np.sin(np.arange(120)/7*6.283)))
learn = forecast_learner(df, horizon=7, dates='day', seq_len=14, bs=16)
with learn.no_bar(), learn.no_logging():
    learn.fit_one_cycle(1)
found = learn.forecast(df)
print(found.set_index('day')['coffee'].round(1).head(3))
figure = draw_forecast(df, found)
print(len(figure.axes))
