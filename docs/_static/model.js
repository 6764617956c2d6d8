// A small language model in the page. Its layers are gated linear attention; the same text is continued twice, once with
// the state and once with all keys and values kept, and the reader sees what both hold and how long a token takes.
'use strict';
(() => {
const bytesOf = text => Uint8Array.from(atob(text), c => c.charCodeAt(0));

// Numbers of 16 bits
function halves(text) {
  const view = new DataView(bytesOf(text).buffer), out = new Float32Array(view.byteLength/2);
  for (let i = 0; i < out.length; i++) {
    const h = view.getUint16(2*i, true), e = h >> 10 & 31, f = h & 1023;
    out[i] = (h >> 15 ? -1 : 1)*(e ? (1 + f/1024)*2**(e - 15) : f*2**-24);
  }
  return out;
}
// A matrix whose entries have a few bits each, and whose rows have a scale
function matrix({scales, codes, columns}, bits) {
  const row = halves(scales), packed = bytesOf(codes), out = new Float32Array(row.length*columns), half = 2**(bits - 1);
  for (let i = 0, held = 0, have = 0, at = 0; i < out.length; i++) {
    if (have < bits) { held = held << 8 | packed[at++]; have += 8; }
    have -= bits;
    out[i] = ((held >> have) - half)*row[Math.floor(i/columns)];
    held &= (1 << have) - 1;
  }
  return out;
}
function multiply(W, x, bias) {
  const n = x.length, out = new Float32Array(W.length/n);
  for (let i = 0, at = 0; i < out.length; i++) {
    let sum = bias ? bias[i] : 0;
    for (let j = 0; j < n; j++) sum += W[at++]*x[j];
    out[i] = sum;
  }
  return out;
}
function normalise(x, weight, bias, from = 0, n = x.length, out = new Float32Array(n)) {
  let mean = 0, square = 0;
  for (let i = 0; i < n; i++) mean += x[from + i]/n;
  for (let i = 0; i < n; i++) square += (x[from + i] - mean)**2/n;
  const scale = 1/Math.sqrt(square + 1e-5);
  for (let i = 0; i < n; i++) out[i] = (x[from + i] - mean)*scale*(weight ? weight[i] : 1) + (bias ? bias[i] : 0);
  return out;
}
const sigmoid = x => 1/(1 + Math.exp(-x));
function erf(x) {  // Abramowitz and Stegun, 7.1.26
  const t = 1/(1 + .3275911*Math.abs(x));
  const y = 1 - t*(.254829592 + t*(-.284496736 + t*(1.421413741 + t*(-1.453152027 + t*1.061405429))))*Math.exp(-x*x);
  return x < 0 ? -y : y;
}
const gelu = x => x*(1 + erf(x/Math.SQRT2))/2;

class LanguageModel {
  constructor({bits, blocks, heads, width, vectors, matrices}) {
    this.blocks = blocks; this.heads = heads; this.width = width; this.d = width/heads;
    this.weights = {};
    for (const [name, text] of Object.entries(vectors)) this.weights[name] = halves(text);
    for (const [name, o] of Object.entries(matrices)) this.weights[name] = matrix(o, bits);
    this.omega = Float32Array.from({length: width/2}, (_, i) => Math.exp(-Math.log(10000)*2*i/width));
  }
  // The state before the first token: a matrix for each head, or, with `cached`, room for keys and values
  first(cached = false) {
    const room = n => ({S: new Float32Array(n), kept: null, values: null, decay: null});
    return {position: 0, cached, blocks: Array.from({length: this.blocks}, () => room(cached ? 0 : this.width*this.d))};
  }
  // Bytes of what is remembered
  bytes(state) { return 4*this.blocks*(state.cached ? 2*state.position*this.width : this.width*this.d); }
  embed(token, position) {
    const {width} = this, table = this.weights['embed.tokens.weight'], scale = Math.sqrt(2/width);
    return Float32Array.from({length: width}, (_, i) => {
      const angle = Math.fround(position*this.omega[i >> 1]);
      return table[token*width + i] + scale*(i%2 ? Math.cos(angle) : Math.sin(angle));
    });
  }
  // Read one token: logits of the next one; the state is changed
  step(token, state) {
    const W = this.weights, n = state.position, add = (x, y) => x.forEach((_, i) => { x[i] += y[i]; });
    const x = this.embed(token, n);
    state.blocks.forEach((own, i) => {
      const at = name => W[`blocks.${i}.${name}`];
      add(x, this.attend(normalise(x, at('norm1.weight'), at('norm1.bias')), name => at(`attention.${name}`), own, n, state.cached));
      const inner = multiply(at('ff.0.weight'), normalise(x, at('norm2.weight'), at('norm2.bias')), at('ff.0.bias'));
      add(x, multiply(at('ff.3.weight'), inner.map(gelu), at('ff.3.bias')));
    });
    state.position++;
    return multiply(W['embed.tokens.weight'], normalise(x, W['norm.weight'], W['norm.bias']), W['out.bias']);
  }
  attend(x, at, own, n, cached) {
    const {d, heads} = this, [q, k, v, gate] = ['q', 'k', 'v', 'gate'].map(name => multiply(at(`to_${name}.weight`), x));
    const z = multiply(at('to_decay.1.weight'), multiply(at('to_decay.0.weight'), x), at('to_decay.1.bias'));
    const decay = own.decay = z.map(o => sigmoid(o)**(1/16));
    const out = cached ? this.withCache(q, k, v, decay, own, n) : this.withState(q, k, v, decay, own.S);
    for (let h = 0; h < heads; h++) normalise(out, null, null, h*d, d, out.subarray(h*d, h*d + d));
    return multiply(at('to_out.weight'), out.map((o, i) => o*gate[i]*sigmoid(gate[i])));
  }
  // S = a S + k v, and q S
  withState(q, k, v, decay, S) {
    const {d, width} = this, out = new Float32Array(width);
    for (let r = 0; r < width; r++) {
      const from = r - r%d, row = r*d;
      for (let j = 0; j < d; j++) {
        const s = S[row + j] = decay[r]*S[row + j] + k[r]*v[from + j];
        out[from + j] += q[r]*s;
      }
    }
    return out;
  }
  // The same without a state: every key is kept, and decays; the values are weighted by q k
  withCache(q, k, v, decay, own, n) {
    const {d, width, heads} = this, out = new Float32Array(width);
    if (!own.kept || own.kept.length < (n + 1)*width) {
      for (const name of ['kept', 'values']) {
        const more = new Float32Array(Math.max(64, 2*n)*width);
        if (own[name]) more.set(own[name]);
        own[name] = more;
      }
    }
    const {kept, values} = own;
    kept.set(k, n*width); values.set(v, n*width);
    for (let t = 0; t <= n; t++) for (let h = 0; h < heads; h++) {
      const from = h*d, row = t*width + from;
      let weight = 0;
      for (let j = 0; j < d; j++) {
        if (t < n) kept[row + j] *= decay[from + j];
        weight += q[from + j]*kept[row + j];
      }
      for (let j = 0; j < d; j++) out[from + j] += weight*values[row + j];
    }
    return out;
  }
}
// The next byte: the likeliest one, or a draw
function choose(logits, freedom, random = Math.random) {
  if (!freedom) return logits.indexOf(Math.max(...logits));
  const noisy = logits.map(o => o/freedom - Math.log(-Math.log(random() || 1e-12)));
  return noisy.indexOf(Math.max(...noisy));
}
if (typeof module !== 'undefined') { module.exports = {LanguageModel, choose}; return; }

const LONGEST = 16384;  // tokens, after which the cache would be a burden
const base = document.currentScript.src;
const node = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};
const loaded = () => globalThis.pageModel ? Promise.resolve() : new Promise((done, fail) => {
  const script = node('script', {src: new URL('model-weights.js', base)});
  script.onload = done; script.onerror = () => fail(new Error('its weights are missing'));
  document.head.append(script);
});
const size = bytes => bytes < 1e6 ? `${Math.round(bytes/1024)} KB` : `${(bytes/1048576).toFixed(1)} MB`;

// Numbers as a picture, teal above zero and orange below
function paint(canvas, rows, columns, value) {
  canvas.width = columns; canvas.height = rows;
  const picture = new ImageData(columns, rows);
  let most = 1e-9;
  for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) most = Math.max(most, Math.abs(value(i, j)));
  for (let i = 0, at = 0; i < rows; i++) for (let j = 0; j < columns; j++, at += 4) {
    const x = value(i, j);
    picture.data.set(x < 0 ? [233, 161, 59] : [42, 157, 143], at);
    picture.data[at + 3] = 255*Math.sqrt(Math.abs(x)/most);
  }
  canvas.getContext('2d').putImageData(picture, 0, 0);
}

// What this browser lacks, in words
function lacking() {
  if (!globalThis.TextEncoder || !globalThis.TextDecoder) return 'this browser cannot turn a text into bytes (TextEncoder)';
  if (!globalThis.ImageData || !node('canvas').getContext('2d')) return 'this browser draws no pictures (canvas)';
  return '';
}
// Put the model into an element, in place of what is there, or say why it cannot run
async function mount(element, options = {}) {
  try {
    if (lacking()) throw new Error(lacking());
    await loaded();
    return show(element, options);
  } catch (why) { element.append(node('p', {role: 'alert'}, `The model cannot run here: ${why.message}.`)); }
}
function show(element, {prompt = 'My dear Joe,'}) {
  const model = new LanguageModel(globalThis.pageModel);
  const box = node('textarea', {rows: 2, 'aria-label': 'Beginning of the text', spellcheck: 'false'});
  const go = node('button', {type: 'button', class: 'go'}, 'Go on'), anew = node('button', {type: 'button'}, 'Start again');
  const freedom = node('input', {type: 'range', min: 0, max: 1.2, step: .1, value: .7, 'aria-label': 'Freedom'});
  const pick = (name, n) => node('select', {'aria-label': name}, ...Array.from({length: n}, (_, i) => node('option', {value: i}, i + 1)));
  const block = pick('Block', model.blocks), head = pick('Head', model.heads);
  const text = node('p', {class: 'model-text', tabindex: 0, 'aria-label': 'The text'});
  const panel = (title, words) => {
    const canvas = node('canvas', {role: 'img', 'aria-label': words}), says = node('output');
    return {canvas, says, all: node('div', {class: 'model-panel'}, node('b', {}, title), canvas, says, node('p', {}, words))};
  };
  const panels = [panel('With its state', 'The matrix S of the head. It changes with every token, and never grows.'),
    panel('With keys and values', 'All keys of the head, one column for each token, the last 256. They fade, and none is ever dropped.')];
  const equal = node('output', {class: 'model-equal'});
  box.value = prompt;
  const label = (name, input) => node('label', {}, `${name} `, input);
  element.replaceChildren(node('div', {class: 'model'}, box,
    node('div', {class: 'mechanism-controls'}, go, anew, label('Freedom', freedom), label('Block', block), label('Head', head)),
    text, node('div', {class: 'model-panels'}, ...panels.map(o => o.all)), equal));

  let states, logits, read, times, running = false, decoder, difference;
  function reset() {
    states = [model.first(), model.first(true)]; times = [0, 0]; logits = null; read = []; difference = 0;
    decoder = new TextDecoder(); text.replaceChildren(node('b', {}));
  }
  function advance(token) {
    read.push(token);
    const found = states.map((state, i) => {
      const start = performance.now(), out = model.step(token, state);
      times[i] += ((performance.now() - start) - times[i])/Math.min(32, read.length);
      return out;
    });
    found[0].forEach((x, i) => { difference = Math.max(difference, Math.abs(x - found[1][i])); });
    logits = found[0];
  }
  function draw() {
    const i = +block.value, from = +head.value*model.d, [own, other] = states.map(o => o.blocks[i]), n = read.length;
    if (!n) return;
    paint(panels[0].canvas, model.d, model.d, (r, c) => own.S[(from + r)*model.d + c]);
    const shown = Math.min(n, 256);
    paint(panels[1].canvas, model.d, shown, (r, c) => other.kept[(n - shown + c)*model.width + from + r]);
    panels.forEach(({says}, j) => { says.textContent = `${times[j].toFixed(2)} ms a token, ${size(model.bytes(states[j]))}`; });
    equal.textContent = `${n} tokens. The logits of both differ by ${difference.toExponential(0)} at most.`;
  }
  function begin() {
    if (read.length) return;
    text.firstChild.textContent = box.value;
    for (const token of new TextEncoder().encode(box.value || '\n')) advance(token);
  }
  function frame() {
    if (!running) return;
    if (read.length >= LONGEST) { run(false); equal.textContent += ' The cache is full: start again.'; return; }
    const token = choose(logits, +freedom.value);
    text.append(decoder.decode(Uint8Array.of(token), {stream: true}));
    text.scrollTop = text.scrollHeight;
    advance(token); draw();
    requestAnimationFrame(frame);
  }
  function run(on) {
    running = on; go.textContent = on ? 'Stop' : 'Go on';
    if (on) { begin(); requestAnimationFrame(frame); }
  }
  go.addEventListener('click', () => run(!running));
  anew.addEventListener('click', () => { run(false); reset(); begin(); draw(); });
  box.addEventListener('input', () => { run(false); reset(); });
  for (const select of [block, head]) select.addEventListener('input', draw);
  reset(); begin(); draw();
  return {run, model, count: () => read.length, text: () => text.textContent, logits: () => logits};
}
globalThis.mountModel = mount;
})();
