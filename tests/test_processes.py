"Two processes do what one process does, write one record, and go on after a signal, under torchrun as well."
import json, os, re, signal, socket, subprocess, sys, time
from importlib.util import find_spec
from pathlib import Path

import pytest

SIZES = '--n-bytes 7200 --d-model 16 --n-layers 1 --n-heads 2 --seq-len 32 --bs 4 --carry --epochs 1 --sample 4'
PROGRAM = [sys.executable, '-c', 'from reformer_rnn.ledger.command import main; main()', 'charlm', *SIZES.split()]
TORCHRUN = [sys.executable, '-m', 'torch.distributed.run', '--standalone', '--nproc-per-node', '2', '--no-python']

def start(folder, *options, launcher=()):
    "Start the experiment, alone or through a launcher."
    env = os.environ | dict(OMP_NUM_THREADS='1')
    return subprocess.Popen([*launcher, *PROGRAM, '--results', str(folder), *options], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env=env)

def finish(process):
    "What it printed, once it is done."
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return out

def one_of(count, number, port, folder, said, options):
    "Be one of several processes that nobody watches, in a program that has the heavy imports behind it."
    import torch
    from conftest import as_script
    torch.set_num_threads(1)  # it was imported without the variable below
    os.environ.update(RANK=str(number), LOCAL_RANK=str(number), WORLD_SIZE=str(count), MASTER_ADDR='127.0.0.1',
                      MASTER_PORT=str(port), OMP_NUM_THREADS='1')
    command = str(Path(sys.executable).with_name('reformer_rnn'))
    options = 'charlm', *SIZES.split(), '--results', str(folder), *options
    as_script(command, said, options, said/f'out{number}', said/f'err{number}')

def start_together(count, folder, said, *options):
    "Start so many processes that train as one, without a launcher; what they print lies in the folder `said`."
    from conftest import FORKS
    with socket.socket() as s: s.bind(('127.0.0.1', 0)); port = s.getsockname()[1]
    said.mkdir(exist_ok=True)
    processes = [FORKS.Process(target=one_of, args=(count, i, port, folder, said, options)) for i in range(count)]
    for o in processes: o.start()
    return processes

def printed(processes, said):
    "What all of them printed, once they are done."
    from conftest import ended
    assert [ended(o, 300) for o in processes] == [0]*len(processes), [o.read_text() for o in said.glob('err*')]
    return ''.join(o.read_text() for o in said.glob('out*'))

def record(folder): return json.loads((folder/'linear-seed0.json').read_text())

def same_curve(a, b, largest):
    "Do two records hold the same run, up to rounding?"
    assert a['steps']['step'] == b['steps']['step'] and a['steps']['step'][-1] >= 50
    for key in ('train_loss', 'lr'): assert max(abs(u-v) for u, v in zip(a['steps'][key], b['steps'][key])) <= largest
    for key in ('valid_loss', 'bits_per_token'): assert abs(a['epochs'][key][-1]-b['epochs'][key][-1]) <= largest
    assert abs(a['bits_per_byte']-b['bits_per_byte']) <= largest
    assert a['throughput']['tokens'] == b['throughput']['tokens']

@pytest.mark.skipif(os.name == 'nt', reason='signals')
def test_two_processes(tmp_path):
    from conftest import ended
    one = start_together(1, tmp_path/'one', tmp_path/'said one')
    two = start_together(2, tmp_path/'two', tmp_path/'said two')
    printed(one, tmp_path/'said one')
    out = printed(two, tmp_path/'said two')
    # one of them speaks
    assert out.count('linear, seed 0\n') == out.count('Held-out text') == 1, out
    files = ['charlm.png', 'linear-seed0.json', 'linear-seed0.model']
    assert sorted(o.name for o in (tmp_path/'two').iterdir()) == files
    a = record(tmp_path/'one')
    b = record(tmp_path/'two')
    assert (a['environment']['processes'], b['environment']['processes']) == (1, 2)
    same_curve(a, b, 1e-5)

    both = start_together(2, tmp_path/'stopped', tmp_path/'said', '--checkpoint-steps', '5')
    while not list(tmp_path.glob('stopped/*.checkpoints/step-*')): time.sleep(.01); assert both[0].is_alive()
    for o in both: os.kill(o.pid, signal.SIGTERM)
    assert all(ended(o, 300) for o in both)
    err = ''.join(o.read_text() for o in (tmp_path/'said').glob('err*'))
    assert err.count('reformer_rnn charlm: stopped by SIGTERM after step') == 1, err
    resumed = start_together(2, tmp_path/'stopped', tmp_path/'said resumed', '--resume')
    assert 'going on from' in printed(resumed, tmp_path/'said resumed')
    same_curve(b, record(tmp_path/'stopped'), 0)

@pytest.mark.skipif(os.name == 'nt', reason='signals')
def test_the_other_ends(tmp_path):
    "One of two is killed, and no launcher watches: the other ends, and says why in one sentence."
    from conftest import ended
    both = start_together(2, tmp_path/'results', tmp_path/'said', '--checkpoint-steps', '5')
    while not list(tmp_path.glob('results/*.checkpoints/step-*')): time.sleep(.01); assert both[0].is_alive()
    both[1].kill()
    assert ended(both[0], 60) == 1  # and not -9, as if it had to be killed
    said = (tmp_path/'said'/'err0').read_text().splitlines()
    assert len(said) == 1 and 'process 1 has died, or was killed' in said[0], said

@pytest.mark.slow  # four programs that import everything
@pytest.mark.skipif(os.name == 'nt', reason='signals')
def test_torchrun(tmp_path):
    "The launcher passes a signal on; the processes say once that they stop, and go on from there."
    stopped = start(tmp_path/'stopped', '--checkpoint-steps', '5', launcher=TORCHRUN)
    checkpoints = tmp_path/'stopped'/'linear-seed0.checkpoints'
    while not list(checkpoints.glob('step-*')): time.sleep(.01); assert stopped.poll() is None, stopped.communicate()
    stopped.send_signal(signal.SIGTERM)  # the launcher passes it on
    _, err = stopped.communicate(timeout=300)
    assert stopped.returncode != 0 and err.count('reformer_rnn charlm: stopped by SIGTERM after step') == 1, err
    out = finish(start(tmp_path/'stopped', '--resume', launcher=TORCHRUN))
    assert 'going on from' in out and out.count('Held-out text') == 1, out
    assert record(tmp_path/'stopped')['environment']['processes'] == 2

@pytest.mark.slow  # two programs that import everything
@pytest.mark.skipif(not find_spec('accelerate'), reason='accelerate is not installed')
def test_accelerate_launch(tmp_path):
    """`accelerate launch` sets the same variables as torchrun; for several processes on a CPU it wants mpirun, so here
    it starts one. Asked for two, it starts one as well, which does not train alone."""
    launcher = [sys.executable, '-m', 'accelerate.commands.accelerate_cli', 'launch', '--cpu', '--num_processes', '1',
                '--num_machines', '1', '--no_python']
    finish(start(tmp_path/'launched', launcher=launcher))
    assert record(tmp_path/'launched')['bits_per_byte'] > 0
    launcher[launcher.index('1')] = '2'
    alone = start(tmp_path/'alone', launcher=launcher)
    assert 'was asked for several processes and has started one' in alone.communicate(timeout=300)[1]
    assert alone.returncode
    assert not (tmp_path/'alone').exists()

def shown(language):
    "The code of a language among what the page on processes shows for clusters."
    page = json.loads((Path(__file__).parents[1]/'nbs/50_training/09_processes.ipynb').read_text())
    cells = ''.join(''.join(o['source']) for o in page['cells'] if o['cell_type'] == 'markdown')
    return next(o for o in re.findall(rf'```{language}\n(.*?)```', cells, re.S) if o.startswith(('#!', 'apiVersion')))

def as_here(line, folder):
    "What a page shows, in the size of a test and on this machine."
    with socket.socket() as s: s.bind(('127.0.0.1', 0)); port = s.getsockname()[1]
    here = {'charlm-0.charlm': '127.0.0.1', '29500': str(port), 'charlm book.txt': f'charlm {SIZES}',
            '--results results': f'--results {folder}'}
    for old, new in here.items(): line = line.replace(old, new)
    return re.sub(r'--nproc-per-node \d', '--nproc-per-node 1', line)

def stand_in(folder, name, text):
    "A program that is found first on the path."
    path = folder/name
    path.write_text(f'#!/bin/bash\n{text}\n')
    path.chmod(0o755)

@pytest.mark.slow  # two times two programs that import everything
@pytest.mark.skipif(os.name == 'nt', reason='bash')
def test_two_machines(tmp_path):
    "The files that the page shows for SLURM and Kubernetes, with this machine as two."
    env = os.environ | dict(OMP_NUM_THREADS='1', SLURM_JOB_NODELIST='127.0.0.1', SLURM_NNODES='2',
                            PATH=f'{tmp_path}:{Path(sys.executable).parent}:{os.environ["PATH"]}')
    stand_in(tmp_path, 'scontrol', 'echo 127.0.0.1; echo 127.0.0.2')
    stand_in(tmp_path, 'srun', 'SLURM_NODEID=1 "$@" & SLURM_NODEID=0 "$@"; code=$?; wait; exit $code')
    subprocess.run(['bash', '-c', as_here(shown('sh'), tmp_path/'slurm')], env=env, check=True, timeout=300)
    import yaml
    service, job = yaml.safe_load_all(shown('yaml'))
    pod = job['spec']['template']['spec']
    assert pod['subdomain'] == service['metadata']['name']
    assert service['spec']['selector'] == {'job-name': job['metadata']['name']}
    container, = pod['containers']
    line = as_here(' '.join(container['args']), tmp_path/'pods')
    pods = [subprocess.Popen([*container['command'], line], env=env | dict(JOB_COMPLETION_INDEX=str(i)))
            for i in range(job['spec']['completions'])]
    assert [o.wait(300) for o in pods] == [0, 0]
    for name in ('slurm', 'pods'): assert record(tmp_path/name)['environment']['processes'] == 2
