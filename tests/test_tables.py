"""Tables as people have them: read as they were meant, or refused with what is wrong, where, and what to do.

Each shape goes through every function that reads dates. None may make up a row without saying how many.
"""
import io, re, warnings
from contextlib import redirect_stdout

import numpy as np
import pandas as pd
import pytest

from reformer_rnn.data.series import fill_rows, frame_series, read_series
from reformer_rnn.data.tables import read_frame
from reformer_rnn.training.forecast import forecast_learner, frame_windows

N = 60  # rows, unless a shape has its own
VALUES = np.round(50+10*np.sin(np.arange(N)/3)+np.arange(N)%7/8, 3)

def days(how='%Y-%m-%d', n=N, start='2021-02-01', freq='D'):
    return pd.date_range(start, periods=n, freq=freq).strftime(how)

def table(dates, values=VALUES, **more):
    return pd.DataFrame(dict(date=dates, load=values[:len(dates)], **more))

def csv(frame, **options): return frame.to_csv(index=False, **options)

def rows(*lines, head='date,load'): return '\n'.join([head, *lines])+'\n'

def replaced(i, **values):
    "A table of days, in which values of one row are others."
    frame = table(days()).astype(object)
    for column, value in values.items(): frame.loc[i, column] = value
    return csv(frame)

ISO = [f'2021-02-{i:02d}' for i in range(1, 29)]
DAY = pd.date_range('2021-02-01', periods=N)
WORKING = pd.date_range('2021-02-01', periods=N, freq='B')
HOUR = pd.date_range('2021-02-01', periods=N, freq='h')
MONTH = pd.date_range('2015-01-01', periods=N, freq='MS')
YEAR = pd.date_range('1950', periods=N, freq='YS')
zoned = pd.date_range('2021-03-01', periods=N, tz='Europe/Berlin')

RIGHT = {  # Shape: the text of the file, and the dates that it holds
    'plain': (csv(table(days())), DAY),
    'semicolons, decimal comma': (csv(table(days()), sep=';', decimal=','), DAY),
    'semicolons, decimal point': (csv(table(days()), sep=';'), DAY),
    'tabs': (csv(table(days()), sep='\t'), DAY),
    'bars': (csv(table(days()), sep='|'), DAY),
    'commas, decimal comma in quotes': (csv(table(days()), decimal=','), DAY),
    'byte order mark': ('\ufeff'+csv(table(days()), quoting=1), DAY),
    'Windows line ends': (csv(table(days())).replace('\n', '\r\n'), DAY),
    'spaces around names': (csv(table(days())).replace('date,load', ' date , load '), DAY),
    'empty lines at the end': (csv(table(days()))+'\n\n', DAY),
    'day first, days over 12': (csv(table(days('%d/%m/%Y'))), DAY),
    'month first, days over 12': (csv(table(days('%m/%d/%Y'))), DAY),
    'day first, months': (csv(table(days('%d/%m/%Y', start='2015-01-01', freq='MS'))), MONTH),
    'month first, months': (csv(table(days('%m/%d/%Y', start='2015-01-01', freq='MS'))), MONTH),
    'day first with dots, months': (csv(table(days('%d.%m.%Y', start='2015-01-01', freq='MS'))), MONTH),
    'day first, hours': (csv(table(days('%d/%m/%Y %H:%M', freq='h', start='2021-02-01'))), HOUR),
    'no zeros before days': (csv(table([f'{o.day}/{o.month}/{o.year}' for o in DAY])), DAY),
    'year first, with strokes': (csv(table(days('%Y/%m/%d'))), DAY),
    'names of months': (csv(table(days('%d %b %Y'))), DAY),
    'T and Z': (csv(table(days('%Y-%m-%dT%H:%M:%SZ'))), DAY.tz_localize('UTC')),
    'years': (csv(table([f'{o}-01-01' for o in range(1950, 1950+N)])), YEAR),
    'commas between thousands': (csv(table(days()).assign(load=[f'{1e3*o:,.1f}' for o in VALUES])), DAY),
    'points between thousands': (csv(table(days()).assign(
        load=[f'{1e3*o:_.1f}'.replace('.', ',').replace('_', '.') for o in VALUES]), sep=';'), DAY),
    'working days': (csv(table(days(freq='B'))), WORKING),
    'day first, working days': (csv(table(days('%d/%m/%Y', freq='B'))), WORKING)}

REFUSED = {  # Shape: the text of the file, and words of the error, with the remedy
    'twelve months of one year': (csv(table(days('%d/%m/%Y', 12, '2021-01-01', 'MS'))), 'even both ways',
                                  'date_format='),
    'day first, a month is missing': (csv(table(days('%d/%m/%Y', start='2015-01-01', freq='MS')).drop(index=30)),
                                      "row 1 has the date '01/02/2015'", 'date_format='),
    'numbers for dates': (csv(table(days('%Y%m%d'))), 'the dates are numbers', 'date_format'),
    'seconds since 1970': (csv(table(DAY.asi8//10**6 if DAY.unit == 'us' else DAY.asi8//10**9)), 'numbers', "unit='s'"),
    'years of two digits': (csv(table(days('%d.%m.%y'))), "the first is '01.02.21'", 'date_format'),
    'quarters': (csv(table([f'{2000+i//4}Q{i%4+1}' for i in range(N)])), "the first is '2000Q1'", 'PeriodIndex'),
    'summer time as offsets': (csv(table(zoned.astype(str))), 'different offsets', 'utc=True'),
    'a row is missing': (csv(table(days()).drop(index=20)), 'row 19 is of 2021-02-20', '`fill_rows` inserts them'),
    'most rows are missing': (csv(table(pd.to_datetime(['2021-01-01','2021-01-02','2021-01-03','2021-09-01']))),
                              'row 2 is of 2021-01-03', '`resample`'),
    'a wrong year': (replaced(30, date='9021-03-03'), 'row 30', 'wrong'),
    'newest first': (csv(table(days())[::-1]), 'row 0', 'sort the rows'),
    'two series below each other': (csv(pd.concat([table(days())]*2).sort_values('date')), 'row 0', 'one series'),
    'a date that is missing': (replaced(7, date=''), 'row 7 has the date nan', 'df.drop(df.index[7])'),
    'a sum in the last row': (csv(table(days()))+'Total,123\n', "row 60 has the date 'Total'", 'not written'),
    'the header again': (csv(table(days()))+csv(table(days())), "row 60 has the date 'date'", 'not written'),
    'a value that is missing': (replaced(7, load=''), "column 'load' has 'nan' in row 7", '`fill_rows` puts'),
    'a dash for a value': (replaced(7, load='-'), "column 'load' has '-' in row 7", '`fill_rows` puts'),
    'a comma between thousands': (csv(table(days(), [f'{o:,}' for o in range(1000, 1000+N)])),
                                  "column 'load' has '1,000' in row 0", 'thousands='),
    'a number of 401 digits': (replaced(7, load='9'*401), "column 'load' has 'inf' in row 7", 'finite'),
    'infinity': (replaced(7, load='inf'), "column 'load' has 'inf' in row 7", '`fill_rows` puts'),
    'other names': (csv(table(days())).replace('date', 'Date'), "no column 'date'", "`dates='Date'`"),
    'words': (csv(table(days(), sky=['clear', 'rain']*(N//2))), "column 'sky' has 'clear' in row 0", 'get_dummies'),
    'a ragged end': (csv(table(days(), [*VALUES[:-3], None, None, None])), "'load' has 'nan' in row 57", 'df[:-3]'),
    'long form': (csv(pd.concat(table(days(), town=o) for o in ('Bern', 'Rome'))), "told apart by 'town'", 'df.pivot('),
    'numbers of rows': (table(days()).to_csv(), 'column 0', 'index=False'),
    'a column twice': (csv(table(days())).replace('date,load', 'load,load'), "two columns 'load'", 'two columns'),
    'one field too many': (rows(*(f'{o},1,2' for o in ISO)), 'more fields', 'header'),
    'notes above the header': ('Load of the city\n'+csv(table(days())), 'more fields', 'first line'),
    'a line for spreadsheets': ('sep=;\n'+csv(table(days()), sep=';'), "first line is 'sep=", 'delete it'),
    'two possible separators': (rows(*(f'{o};1,5' for o in ISO), head='date;load,kW'), 'semicolon', 'sep='),
    'nothing': ('', 'empty', 'no table'),
    'only a header': ('date,load\n', 'no rows', 'no rows')}

@pytest.fixture
def file(tmp_path): return tmp_path/'table.csv'

@pytest.mark.parametrize('shape', RIGHT)
def test_right(shape, file):
    "Every reader finds the dates and values that were written, and no row is made up."
    text, dates = RIGHT[shape]
    file.write_bytes(text.encode())
    series = read_series(file)
    assert (list(series.dates), series.columns) == (list(dates), ('load',))
    assert series.values[:, 0].tolist() == (VALUES[:len(dates)]*(1000 if 'between thousands' in shape else 1)).tolist()
    frame = read_frame(file)
    with redirect_stdout(io.StringIO()) as said: filled = fill_rows(frame)
    assert list(filled.date) == list(dates) and said.getvalue().startswith('0 rows put in, 0 left out')
    assert list(frame_windows(frame, 2, seq_len=4)[0].train.dates) == list(dates[:36])

@pytest.mark.parametrize('shape', REFUSED)
def test_refused(shape, file):
    "The error names what is wrong, where, and the way out; `fill_rows` makes up fewer rows than there are."
    text, *words = REFUSED[shape]
    file.write_bytes(text.encode())
    with pytest.raises(ValueError) as e: read_series(file)
    for word in words: assert word in str(e.value)
    with redirect_stdout(io.StringIO()), warnings.catch_warnings():
        try: frame = read_frame(file); filled = fill_rows(frame)
        except ValueError: return
    assert len(filled) <= 2*len(frame)

FAR = {'-9999': -9999, '-999.9': -999.9, '1e20': 1e20, 'netCDF': 9.969209968386869e36, 'a million times': 5e7}

@pytest.mark.parametrize('value', FAR)
@pytest.mark.parametrize('reader', ['read_series', 'frame_series', 'frame_windows'])
def test_far(value, reader, file):
    "Values far out are named before training, and masked by the line that the message has."
    df = pd.DataFrame(dict(date=days(), load=VALUES))
    df.loc[[10, 11], 'load'] = FAR[value]
    df.to_csv(file, index=False)
    read = {'read_series': lambda: read_series(file), 'frame_series': lambda: frame_series(df),
            'frame_windows': lambda: frame_windows(df, 2, seq_len=4)}[reader]
    with pytest.warns(UserWarning, match="'load' has .* in 2 of 60 rows, the first of them row 10") as said: read()
    exec(str(said[0].message).split('`')[1])
    assert df.load.isna().sum() == 2
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
        warnings.simplefilter('error')
        frame_series(fill_rows(df))

def weather():
    "Hours with gaps, a column of words, values that are missing, and an end to which not every column comes."
    hours = 10+8*np.sin(np.arange(400)/4)
    table = pd.DataFrame(dict(time=days('%Y-%m-%d %H:%M', 400, freq='h'), temp=hours.round(1), wind=(hours/3).round(1),
                              sky=['clear', 'rain']*200))
    table.loc[50:53, 'temp'] = table.loc[397:, 'wind'] = None
    table.loc[[70, 71], 'temp'] = -9999
    return table.drop(index=[100, 101, 200])

def stations(columns=('temp',), **options):
    "A row for each date and station."
    towns = [pd.DataFrame(dict(datum=days('%d.%m.%Y'), station=town, **{o: VALUES+i for o in columns}))
             for i, town in enumerate(('Bern', 'Rome', 'Oslo'))]
    return csv(pd.concat(towns), **options)

def european(encoding):
    "Semicolons, decimal commas, points between thousands, dd.mm.yyyy, and the encoding of a spreadsheet."
    sums = [f'{100*o:_.2f}'.replace('.', ',').replace('_', '.') for o in VALUES]
    return csv(pd.DataFrame({'Datum': days('%d.%m.%Y'), 'Umsätze (€)': sums}), sep=';').encode(encoding)

STRANGERS = {  # File: its bytes, and how many of its columns can be forecast in the end
    'weather': (csv(weather()).encode(), 2), 'cut short': (csv(weather())[:-12].encode(), 2),
    'newest first': (csv(weather()[::-1]).encode(), 2),
    'stations': (stations().encode(), 3), 'two columns of stations': (stations(('temp', 'wind'), sep=';').encode(), 6),
    'European': (european('utf-8-sig'), 1), 'of Windows': (european('cp1252'), 1), 'wide': (european('utf-16'), 1)}

def followed(message, seen, options, path):
    "Do what a message advises first: a line of code, an option, or `fill_rows`."
    for code in re.findall('`([^`]*)`', message):
        if code == 'fill_rows': seen['df'] = fill_rows(seen['df'], **options)
        elif re.match(r'df(\[.*?\])? = ', code): exec(code, dict(pd=pd, read_frame=read_frame, path=path), seen)
        elif re.match(r'\w+=', code): options |= eval(f'dict({code})')
        else: continue
        return
    raise AssertionError(f'no advice: {message}')

@pytest.mark.parametrize('reader', [read_frame, pd.read_csv])
@pytest.mark.parametrize('name', STRANGERS)
def test_messages_lead_to_a_forecast(name, reader, file, capsys):
    "Whoever does what each message says has a forecast of every column of numbers after a few steps."
    content, n = STRANGERS[name]
    if reader is pd.read_csv and name in ('of Windows', 'wide'): return  # pandas fails in its own words
    file.write_bytes(content)
    seen, options, said = {}, {}, []
    while len(said) < 9:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter('error')
                if 'df' not in seen: seen['df'] = reader(file)
                parts, _ = frame_windows(seen['df'], 2, seq_len=4, **options)
            break
        except (ValueError, UserWarning) as e:
            said.append(str(e))
            try: followed(said[-1], seen, options, file)
            except ValueError as e: followed(str(e), seen, options, file)
    assert len(parts.train.columns) == n, said
    if reader is read_frame and name in ('weather', 'stations', 'European'):
        learn = forecast_learner(seen['df'], 2, seq_len=4, seeds=1, bs=512, device='cpu', **options)
        with learn.no_bar(), learn.no_logging(): learn.fit(1)
        found = learn.forecast(seen['df'])
        assert len(found) == 2 and set(parts.train.columns) < set(found.columns) and found.notna().all(axis=None)
