"A file with a state gives the same in onnxruntime for browsers. Needs node, and onnxruntime-web where node finds it."
import json, shutil, subprocess

import numpy as np, pytest, torch

from reformer_rnn.models.export import export_onnx
from reformer_rnn.models.graph_states import OnnxModel
from reformer_rnn.models.lm import LM

PROGRAM = '''
const ort = require('onnxruntime-web');
ort.env.wasm.numThreads = 1;
const [path, ids] = JSON.parse(process.argv[1]);
(async () => {
  const session = await ort.InferenceSession.create(require('fs').readFileSync(path));
  const kinds = {float32: Float32Array, int64: BigInt64Array, bool: Uint8Array};
  const first = () => Object.fromEntries(session.inputMetadata.slice(1).map(({name, type, shape}) => {
    const dims = shape.map((n, i) => i === 0 ? 1 : typeof n === 'number' ? n : 0);
    return [name, new ort.Tensor(type, new kinds[type](dims.reduce((a, b) => a*b, 1)), dims)];
  }));
  const read = async sizes => {
    let state = first(), at = 0, all = [];
    for (const n of sizes) {
      const part = new ort.Tensor('int64', BigInt64Array.from(ids.slice(at, at + n), BigInt), [1, n]);
      const found = await session.run({ids: part, ...state});
      all.push(...found.logits.data);
      state = Object.fromEntries(Object.keys(state).map(name => [name, found[`next.${name}`]]));
      at += n;
    }
    return all;
  };
  console.log(JSON.stringify([await read([ids.length]), await read([3, 1, ids.length - 4])]));
})();
'''

def node(*args):
    return subprocess.run(['node', '-e', *args], capture_output=True, text=True)

@pytest.fixture(scope='module')
def web():
    if not shutil.which('node'): pytest.skip('no node')
    if node('require.resolve("onnxruntime-web")').returncode: pytest.skip('npm install onnxruntime-web')

def test_web_runtime_reads_as_the_native_one(web, tmp_path):
    torch.manual_seed(0)
    path = export_onnx(LM(20, 16, 1, 2, 'gated_delta'), tmp_path/'model.onnx', states=True)
    ids = np.random.default_rng(0).integers(20, size=(1, 30))
    expected = OnnxModel(str(path)).step(ids)[0].ravel()
    ran = node(PROGRAM, json.dumps([str(path), ids[0].tolist()]))
    assert not ran.returncode, ran.stderr
    whole, parts = json.loads(ran.stdout)
    assert np.abs(np.array(whole) - expected).max() < 1e-5*expected.std()
    assert whole == parts
