// Interactive mechanisms. A figure of class "mechanism" holds a static picture and, as data, the numbers of the
// notebook; here the picture gives way to controls and drawings that are computed from these numbers.
'use strict';
const home = document.currentScript.src, drawn = 'http://www.w3.org/2000/svg', CELL = 22;
const HUES = ['#2a9d8f', '#e9a13b', '#d1495b', '#5b8ff9', '#9b6fd1', '#7a8f3c', '#d97fb0', '#6c757d'];

function set(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}
const html = (tag, attributes = {}, ...children) => set(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) => set(document.createElementNS(drawn, tag), attributes, children);

const range = n => Array.from({length: n}, (_, i) => i);
const dot = (a, b) => a.reduce((sum, x, i) => sum + x*b[i], 0);
const plus = (a, b) => a.map((x, i) => x + b[i]);
const shown = x => (Math.abs(x) < 5e-5 ? 0 : x).toFixed(4);
const softmax = scores => {
  const top = Math.max(...scores), e = scores.map(x => Math.exp(x - top)), sum = e.reduce((a, b) => a + b, 0);
  return e.map(x => x/sum);
};

// A column of measured rows at any length: between two of them on a straight line of logarithmic scales.
function between(rows, n, column) {
  let i = rows.findIndex(row => row[0] >= n);
  if (i < 0) i = rows.length - 1;
  if (i === 0 || rows[i][0] === n) return rows[i][column];
  const [a, b] = [rows[i - 1], rows[i]], share = Math.log(n/a[0])/Math.log(b[0]/a[0]);
  return Math.exp(Math.log(a[column])*(1 - share) + Math.log(b[column])*share);
}

// A slider or a list of choices with its name and value in words; `change` is called with every new value.
function slider(name, [least, most, step], value, change, words = x => x) {
  const input = html('input', {type: 'range', 'aria-label': name, min: least, max: most, step, value}), output = html('output', {}, words(value));
  const move = to => { input.value = to; output.textContent = words(+to); };
  input.addEventListener('input', () => { output.textContent = words(+input.value); change(+input.value); });
  return Object.assign(html('label', {}, `${name} `, input, output), {move});
}
// A button that plays: `advance` goes a step, and says whether another one is left; `rewind` goes back where none is
function player(advance, rewind, every) {
  let timer = 0;
  const button = html('button', {type: 'button', class: 'mechanism-play'}, 'Play');
  const stop = () => { clearInterval(timer); timer = 0; button.textContent = 'Play'; };
  const play = () => { rewind(); button.textContent = 'Stop'; timer = setInterval(() => { if (!advance()) stop(); }, every); };
  button.addEventListener('click', () => timer ? stop() : play());
  return {button, stop, start() { if (!matchMedia('(prefers-reduced-motion: reduce)').matches) play(); }};
}
function choice(name, options, change) {
  const select = html('select', {'aria-label': name}, ...options.map(o => html('option', {value: o}, o)));
  select.addEventListener('input', () => change(select.value));
  return html('label', {}, `${name} `, select);
}
function tick(name, change, on = false) {
  const input = html('input', {type: 'checkbox', 'aria-label': name});
  input.checked = on;
  input.addEventListener('input', () => change(input.checked));
  return html('label', {}, input, ` ${name}`);
}

// A matrix as squares, the stronger the larger the number; `look(i, j)` may give {mark, faint, hue}.
function matrix(values, caption, look = () => ({})) {
  const rows = values.length, columns = values[0].length, size = Math.min(CELL, Math.floor(240/Math.max(rows, columns)));
  const most = Math.max(1e-9, ...values.flat().map(Math.abs));
  const cells = range(rows).flatMap(i => range(columns).map(j => {
    const x = values[i][j], {mark, faint, hue} = look(i, j);
    const square = svg('rect', {x: j*size + 1, y: i*size + 1, width: size - 2, height: size - 2,
      fill: hue || (x < 0 ? HUES[1] : HUES[0]), 'fill-opacity': faint ? .06 : .06 + .94*Math.abs(x)/most,
      stroke: mark ? 'currentColor' : 'none', 'stroke-width': 2});
    square.append(svg('title', {}, document.createTextNode(`row ${i + 1}, column ${j + 1}: ${shown(x)}`)));
    return square;
  }));
  const picture = svg('svg', {width: columns*size + 2, height: rows*size + 2, role: 'img', 'aria-label': caption}, ...cells);
  return html('div', {class: 'mechanism-part'}, picture, html('p', {}, caption));
}

function strip(items, caption) {
  const row = html('div', {class: 'mechanism-strip'}, ...items.map(({text, hue, mark, faint, wall, title}) => html('span',
    {title: title || text, style: `--hue: ${hue || 'transparent'}`, class: [mark && 'mark', faint && 'faint', wall && 'wall'].filter(Boolean).join(' ')}, text)));
  return html('div', {class: 'mechanism-part mechanism-row'}, html('p', {}, caption), row);
}
const numbers = rows => html('table', {class: 'mechanism-numbers'}, html('tbody', {}, ...rows.map(([name, values, key]) =>
  html('tr', {'data-key': key || name}, html('th', {}, name), ...[].concat(values).map(x => html('td', {}, typeof x === 'number' ? shown(x) : x))))));

// Memories. Each reads words, `[{q, k, v, gate}]`, the last of which asks. It gives back a mixture of values, and beside it
// the weight of every word in it where words are kept, or the matrix that is kept instead.
const zeros = (rows, columns) => range(rows).map(() => range(columns).map(() => 0));
const sigmoid = x => 1/(1 + Math.exp(-x));
const unit = x => { const length = Math.max(Math.hypot(...x), 1e-12); return x.map(o => o/length); };
const mixture = (shares, values) => values.reduce((sum, v, i) => sum.map((x, j) => x + shares[i]*v[j]), values[0].map(() => 0));
const add = (S, k, v, keep = 1) => S.map((row, i) => row.map((x, j) => keep*x + k[i]*v[j]));
const emptied = ([{k, v}], more = 0) => zeros(k.length, v.length + more);
const elu1 = x => x.map(o => o > 0 ? o + 1 : Math.exp(o));
function attend(words, scores, allowed) {
  const kept = range(words.length).filter(allowed), shares = words.map(() => 0);
  softmax(kept.map(i => scores[i])).forEach((share, i) => { shares[kept[i]] = share; });
  return {out: mixture(shares, words.map(o => o.v)), shares, kept};
}
const compared = words => words.map(({k}) => dot(words.at(-1).q, k)/Math.sqrt(k.length));
function bucketOf(x, directions) {
  const scores = mixture(x, directions), best = scores.reduce((top, s, j) => Math.abs(s) > Math.abs(scores[top]) ? j : top, 0);
  return best + (scores[best] < 0 ? scores.length : 0);
}
const memories = {
  softmax: words => attend(words, compared(words), () => true),
  window: (words, {window}) => attend(words, compared(words), i => i >= words.length - window),
  hash(words, {bucket, rounds}) {
    const last = words.length - 1, keys = words.map(o => unit(o.q));
    const found = rounds.map(directions => keys.map(k => bucketOf(k, directions)));
    const mates = found.flatMap(b => range(last).filter(i => b[i] === b[last]).slice(1 - bucket));
    const scores = keys.map(k => 2*dot(words[last].q, k));
    return {...attend(words, scores, i => mates.length ? mates.includes(i) : i === last), buckets: found[0]};
  },
  sum(words) {
    const S = words.reduce((S, {k, v}) => add(S, elu1(k), [...v, 1]), emptied(words, 1)), read = mixture(elu1(words.at(-1).q), S);
    return {out: read.slice(0, -1).map(o => o/read.at(-1)), S: S.map(row => row.slice(0, -1))};
  },
  decay(words) {
    const S = words.reduce((S, {k, v, gate}) => add(S, k, v, sigmoid(gate + 3)), emptied(words));
    return {out: mixture(words.at(-1).q, S), S};
  },
  delta(words) {
    const replace = (S, {k, v, gate}) => {
      const key = unit(k), known = mixture(key, S);
      return add(S, key, v.map((x, j) => sigmoid(gate)*(x - known[j])));
    };
    const S = words.reduce(replace, emptied(words));
    return {out: mixture(words.at(-1).q, S), S};
  },
};
// Bytes that the library's states have after n words: keys and values of four bytes a number, two buckets of eight, a mark
const kept = {softmax: n => 64*n, window: (n, window) => 65*(window - 1), hash: n => 81*n, sum: () => 288, decay: () => 256, delta: () => 256};

// The model around a memory: a row of a table for each word, mixed with the rows of the two before, and scores of what is read
const rows = (all, columns) => range(all.length/columns).map(i => all.slice(i*columns, (i + 1)*columns));
function unpacked({columns, codes}, step) {
  const bytes = Uint8Array.from(atob(codes), c => c.charCodeAt(0));
  return rows([...new Int16Array(bytes.buffer)].map(x => x/step), columns);
}
const mapped = (table, change) => Object.fromEntries(Object.entries(table).map(([name, o]) => [name, change(o)]));
function wordsOf(ids, {'embed.weight': table, 'conv.weight': conv}) {
  const d = (conv.length - 1)/3, before = conv[0].length - 1;
  return ids.map((_, t) => {
    const x = conv.map((own, c) => own.reduce((sum, w, j) => sum + w*(table[ids[t - before + j]]?.[c] ?? 0), 0));
    return {q: x.slice(0, d), k: x.slice(d, 2*d), v: x.slice(2*d, 3*d), gate: x[3*d]};
  });
}
function answer(kind, {rotations, 'out.weight': weight, 'out.bias': [bias], ...model}, ids, {window, bucket}) {
  const words = wordsOf(ids, model), found = memories[kind](words, {window, bucket, rounds: rows(rotations, words[0].q.length)});
  return {...found, says: softmax(weight.map((row, i) => dot(row, found.out) + bias[i]))};
}
// A picture of a memory: its matrix, or a square for every word, the darker the more of it is given back
function squares(columns, cells) {
  const drawn = cells.map(([share, hue, title], i) => svg('rect', {x: i%columns + .06, y: Math.floor(i/columns) + .06, width: .88, height: .88,
    fill: hue, 'fill-opacity': share.toFixed(3)}, svg('title', {}, title)));
  return svg('svg', {viewBox: `0 0 ${columns} ${Math.ceil(cells.length/columns)}`, 'aria-hidden': 'true'}, ...drawn);
}
function memoryPicture({S, shares, kept, buckets}, words, read) {
  if (S) {
    const most = Math.max(1e-9, ...S.flat().map(Math.abs));
    return squares(S[0].length, S.flat().map(x => [.05 + .95*Math.abs(x)/most, HUES[x < 0 ? 1 : 0], shown(x)]));
  }
  return squares(8, words.map((word, i) => [i >= read ? .04 : kept.includes(i) ? .2 + .8*shares[i] : .07, HUES[buckets && i < read ? buckets[i] : 3],
    i >= read ? `${word}: not read yet` : `${word}: ${Math.round(100*shares[i])} %`]));
}
function memoryAnswers(says, things) {
  const best = range(things.length).sort((i, j) => says[j] - says[i]).slice(0, 2);
  return best.map(i => html('div', {class: 'memory-answer'}, html('span', {}, things[i]), html('i', {style: `--share: ${says[i].toFixed(3)}`}),
    html('b', {}, `${Math.round(100*says[i])} %`)));
}

const mechanisms = {
  // A language model that runs in the page; its script is large, and comes when the reader does.
  model({prompt}, view) {
    const place = html('div'), script = html('script', {src: new URL('model.js', home)});
    script.addEventListener('load', () => mountModel(place, {prompt}));
    script.addEventListener('error', () => { place.textContent = 'The model cannot run here: its script is missing.'; });
    view(place);
    const load = (seen, watch) => { if (seen.some(o => o.isIntersecting)) { watch.disconnect(); place.after(script); } };
    new IntersectionObserver(load, {rootMargin: '0px 0px -200px'}).observe(place);
    return [];
  },

  // Linear attention: one output, three ways to compute it.
  linear({q, k, v}, view) {
    const n = q.length, state = {t: 1, C: 4};
    const outer = (a, b) => a.map(x => b.map(y => x*y));
    const sum = (from, to) => range(to - from).map(i => outer(k[from + i], [...v[from + i], 1]))
      .reduce((S, O) => S.map((row, i) => plus(row, O[i])), k[0].map(() => [...v[0], 1].map(() => 0)));
    const read = (x, S) => S[0].map((_, j) => dot(x, S.map(row => row[j])));
    const divide = y => y.slice(0, -1).map(x => x/y[y.length - 1]);
    const weigh = (x, from, to) => range(to - from).map(i => [...v[from + i], 1].map(o => o*dot(x, k[from + i])))
      .reduce(plus, [...v[0], 1].map(() => 0));
    const draw = () => {
      const {t, C} = state, i = t - 1, start = Math.floor(i/C)*C, x = q[i];
      const weights = q.map((a, r) => k.map((b, j) => j > r ? 0 : dot(a, b)));
      const own = (r, j) => Math.floor(r/C) === Math.floor(j/C);
      view(
        matrix(weights, 'Parallel: φ(q)·φ(k) for every pair. The marked row times the values, divided by its sum, is the output.', (r, j) => ({mark: r === i && j <= i, faint: r > i || j > r})),
        matrix(outer(k[i], [...v[i], 1]), `What token ${t} adds to the state: φ(k)vᵀ, and φ(k) for z.`),
        matrix(sum(0, t), 'Recurrent: the state S, and z in the last column, after this token.', (r, j) => ({mark: j === v[0].length})),
        matrix(weights, `Chunked: pairs within a chunk of ${C}; all that is earlier is one state.`, (r, j) => ({mark: r === i && j <= r && own(r, j), faint: j > r || !own(r, j) || r > i})),
        numbers([['parallel', divide(weigh(x, 0, t)), 'parallel'], ['recurrent', divide(read(x, sum(0, t))), 'recurrent'],
          ['chunked', divide(plus(read(x, sum(0, start)), weigh(x, start, t))), 'chunked']]));
    };
    draw();
    return [slider('Token', [1, n, 1], state.t, t => { state.t = t; draw(); }, t => `${t} of ${n}`),
      slider('Chunk', [1, n, 1], 4, C => { state.C = C; draw(); }, C => `${C} tokens`)];
  },

  // Hashed attention: directions, buckets, and who sees whom by either rule.
  hash({x, m, buckets}, view) {
    const n = x.length, state = {angle: 0, i: n - 2, turned: false}, half = buckets/2;
    const points = turned => x.map((p, i) => turned && i === n - 1 ? [-p[0], -p[1]] : p);
    const hash = (p, angle) => {
      const scores = range(half).map(j => dot(p, [Math.cos(angle + Math.PI*j/half), Math.sin(angle + Math.PI*j/half)]));
      const all = [...scores, ...scores.map(s => -s)];
      return all.indexOf(Math.max(...all));
    };
    const order = b => range(n).sort((i, j) => b[i] - b[j] || i - j);
    const views = b => {
      const sorted = order(b), chunk = range(n).map(i => Math.floor(sorted.indexOf(i)/m));
      return range(n).map(i => {
        const mates = range(i).filter(j => b[j] === b[i]);
        return {chunk: mates.filter(j => chunk[i] - chunk[j] <= 1), band: m > 1 ? mates.slice(-(m - 1)) : []};
      });
    };
    const changed = (rule, a, b) => range(n - 1).filter(j => String(a[j][rule]) !== String(b[j][rule]));
    const at = turned => views(points(turned).map(p => hash(p, state.angle)));
    state.i = changed('chunk', at(false), at(true))[0] ?? n - 2;  // whose view the last point changes
    const draw = () => {
      const now = points(state.turned).map(p => hash(p, state.angle)), seen = at(state.turned), was = at(false), i = state.i;
      const moved = rule => changed(rule, was, seen).length;
      const circle = svg('svg', {width: 240, height: 240, viewBox: '-120 -120 240 240', role: 'img', 'aria-label': 'Points coloured by bucket'},
        ...range(half).map(j => { const a = state.angle + Math.PI*j/half, c = 108*Math.cos(a), s = 108*Math.sin(a);
          return svg('line', {x1: -c, y1: s, x2: c, y2: -s, stroke: 'currentColor', 'stroke-opacity': .35, 'stroke-dasharray': '3 4'}); }),
        ...points(state.turned).flatMap((p, j) => { const r = 92/Math.hypot(...p), at = {x: p[0]*r, y: -p[1]*r};
          return [svg('circle', {cx: at.x, cy: at.y, r: 9, fill: HUES[now[j]%HUES.length], stroke: j === i ? 'currentColor' : 'none', 'stroke-width': 3}),
            svg('text', {x: at.x, y: at.y + 3.5, 'text-anchor': 'middle', 'font-size': 10, fill: '#fff'}, document.createTextNode(j + 1))]; }));
      const row = rule => order(now).map((j, place) => ({text: String(j + 1), hue: HUES[now[j]%HUES.length], mark: j === i,
        faint: j !== i && !seen[i][rule].includes(j), wall: rule === 'chunk' && place > 0 && place%m === 0, title: `position ${j + 1}, bucket ${now[j]}`}));
      view(
        html('div', {class: 'mechanism-part'}, circle, html('p', {}, 'Each point has the colour of the direction it is nearest to.')),
        html('div', {class: 'mechanism-side'},
          strip(row('chunk'), `Rule of chunks: sorted by bucket, cut into chunks of ${m}. Full colour: what position ${i + 1} sees.`),
          strip(row('band'), `Rule of the band: the last ${m - 1} earlier positions of the own bucket.`)),
        numbers([[`${i + 1} sees, by chunks`, seen[i].chunk.map(j => j + 1).join(', ') || 'nothing', 'chunk'], [`${i + 1} sees, by the band`, seen[i].band.map(j => j + 1).join(', ') || 'nothing', 'band'],
          ['views that the last point has changed, by chunks', String(moved('chunk')), 'moved-chunk'], ['views that the last point has changed, by the band', String(moved('band')), 'moved-band'],
          ['buckets', now.join(' '), 'buckets']]));
    };
    draw();
    return [slider('Turn the directions', [0, 179, 1], 0, a => { state.angle = a*Math.PI/180; draw(); }, a => `${a}°`),
      slider('Query', [1, n, 1], state.i + 1, i => { state.i = i - 1; draw(); }), tick('turn the last point round', o => { state.turned = o; draw(); })];
  },

  // Encoded recurrence: the matrix of a linear recurrent network, and its mixture with softmax attention.
  rem({scores}, view) {
    const n = scores.length, state = {kind: 'regular', decay: .8, theta: .8, dilation: 1, gate: .5};
    const draw = () => {
      const {kind, decay, theta, dilation, gate} = state;
      const P = range(n).map(i => range(n).map(j => {
        const lag = i - j, steps = Math.floor(lag/dilation);
        if (lag <= 0 || lag%dilation) return 0;
        return decay**steps*(kind === 'regular' ? 1 : Math[kind](steps*theta));
      }));
      const A = scores.map((row, i) => { const w = softmax(row.slice(0, i + 1)); return range(n).map(j => j <= i ? w[j] : 0); });
      const mixed = P.map((row, i) => row.map((p, j) => (1 - gate)*A[i][j] + gate*p));
      view(matrix(A, 'Softmax attention A.'), matrix(P, 'The recurrence P; orange is negative.'), matrix(mixed, '(1 − gate) A + gate P, the weights of the head.'),
        numbers([['last row of P, lags 1 to 6', range(6).map(l => P[n - 1][n - 2 - l]), 'recurrence'], ['last row of the mixture', range(6).map(l => mixed[n - 1][n - 2 - l]), 'mixture']]));
    };
    draw();
    const change = name => value => { state[name] = value; draw(); };
    return [choice('Kind', ['regular', 'cos', 'sin'], change('kind')), slider('Decay', [-1, 1, .05], .8, change('decay')),
      slider('Angle', [0, 3.1, .1], .8, change('theta')), slider('Dilation', [1, 4, 1], 1, change('dilation')), slider('Gate', [0, 1, .05], .5, change('gate'))];
  },

  // Block recurrence: windows, blocks and states walk over a text.
  blocks({text, window: W, layers, states, segment}, view) {
    const n = text.length, state = {t: 40, L: layers};
    const draw = () => {
      const {t, L} = state, block = Math.floor(t/W), begin = Math.max(0, t - W), reach = Math.max(0, t - W*L), cut = Math.floor(t/segment)*segment;
      const letters = [...text].map((c, j) => ({text: c === ' ' ? '·' : c, mark: j === t, wall: j > 0 && j%W === 0, title: `position ${j}, block ${Math.floor(j/W)}`,
        hue: j > t ? '' : j >= begin ? HUES[0] : j >= reach ? HUES[3] : j < block*W ? HUES[1] : '', faint: j > t}));
      view(strip(letters, 'Walls stand between blocks. Green: one layer sees it. Blue: the stack reaches it through its layers. Orange: only the states can know it.'),
        numbers([['positions that one layer sees', String(t - begin), 'seen'], ['positions that the stack reaches', String(t - reach), 'reach'],
          ['known through the states alone', String(Math.min(reach, block*W)), 'states'], [`numbers that carry them`, `${states} vectors, written ${block} times`, 'written'],
          ['gradients go back to position', String(cut), 'cut']]));
    };
    draw();
    return [slider('Position', [0, n - 1, 1], 40, t => { state.t = t; draw(); }), slider('Layers', [1, 4, 1], layers, L => { state.L = L; draw(); })];
  },

  // The next token: its time and what has to be remembered, while a text grows. It plays by itself, once.
  token({tokens, names}, view) {
    const kinds = Object.keys(tokens), places = tokens[kinds[0]].map(row => row[0]), ends = [places[0], places.at(-1)].map(Math.log2);
    const state = {n: ends[0]}, W = 440, H = 190, most = 1e3*Math.max(...Object.values(tokens).flat().map(row => row[1]));
    const across = n => 8 + (W - 16)*(n - ends[0])/(ends[1] - ends[0]), height = ms => H - 22 - (H - 34)*ms/most;
    const curves = Object.fromEntries(kinds.map(kind => [kind, tokens[kind].map(row => [across(Math.log2(row[0])), height(1e3*row[1])])]));
    const draw = () => {
      const n = Math.round(2**state.n), x = across(state.n), bytes = o => o < 1e6 ? `${(o/1e3).toFixed(0)} kB` : `${(o/1e6).toFixed(1)} MB`;
      const lines = kinds.flatMap((kind, i) => {
        const ms = 1e3*between(tokens[kind], n, 1), now = [...curves[kind].filter(point => point[0] < x), [x, height(ms)]];
        return [svg('polyline', {points: curves[kind].join(' '), fill: 'none', stroke: HUES[i], 'stroke-width': 2, 'stroke-opacity': .25}),
          svg('polyline', {points: now.join(' '), fill: 'none', stroke: HUES[i], 'stroke-width': 4, 'stroke-linecap': 'round'}),
          svg('circle', {cx: x, cy: height(ms), r: 6, fill: HUES[i]})];
      });
      const marks = places.map((place, i) => svg('text', {x: across(Math.log2(place)), y: H - 4, 'font-size': 11, fill: 'currentColor',
        'text-anchor': i === 0 ? 'start' : i === places.length - 1 ? 'end' : 'middle'}, place.toLocaleString('en')));
      const picture = svg('svg', {viewBox: `0 0 ${W} ${H}`, role: 'img', 'aria-label': 'Milliseconds for the next token against the tokens read so far'},
        svg('line', {x1: 8, x2: W - 8, y1: height(0), y2: height(0), stroke: 'currentColor', 'stroke-opacity': .4}), ...lines, ...marks);
      const rows = kinds.map((kind, i) => html('tr', {'data-key': kind}, html('th', {style: `border-left: .6rem solid ${HUES[i]}`}, names[kind]),
        html('td', {}, `${(1e3*between(tokens[kind], n, 1)).toFixed(1)} ms`), html('td', {}, bytes(between(tokens[kind], n, 2)))));
      const head = html('tr', {}, html('th', {}, `${n.toLocaleString('en')} tokens read`), html('td', {}, 'the next one takes'), html('td', {}, 'and needs'));
      view(html('div', {class: 'mechanism-part mechanism-plot'}, picture, html('p', {}, 'Milliseconds for the next token, against the tokens read so far')),
        html('table', {class: 'mechanism-race'}, head, ...rows));
    };
    const control = slider('Tokens read', [...ends, .05], ends[0], n => { stop(); state.n = n; draw(); }, n => Math.round(2**n).toLocaleString('en'));
    const to = n => { state.n = n; control.move(n); draw(); };
    const {button, stop, start} = player(() => { to(Math.min(ends[1], state.n + .05)); return state.n < ends[1]; },
      () => { if (state.n >= ends[1]) state.n = ends[0]; }, 60);
    draw();
    start();
    return [control, button];
  },

  // What a layer costs: the measured records, and lines between them on logarithmic scales.
  cost({tokens, training}, view) {
    const names = Object.keys(tokens), lengths = tokens[names[0]].map(row => row[0]), state = {n: Math.log2(lengths[1])};
    const bars = (values, caption, words) => {
      const most = Math.max(...Object.values(values));
      return html('div', {class: 'mechanism-part mechanism-bars'}, html('p', {}, caption), ...names.filter(name => name in values).map(name =>
        html('div', {'data-key': name}, html('span', {}, name), html('i', {style: `width: ${(60*values[name]/most).toFixed(2)}%`}), html('b', {}, words(values[name])))));
    };
    const take = (table, n, column) => Object.fromEntries(Object.entries(table).map(([name, rows]) => [name, between(rows, n, column)]));
    const draw = () => {
      const n = Math.round(2**state.n), least = training[names[0]][0][0], most = training[names[0]].at(-1)[0], held = Math.min(most, Math.max(least, n));
      view(bars(take(tokens, n, 1), `One more token at position ${n.toLocaleString('en')}`, x => `${(1e3*x).toFixed(2)} ms`),
        bars(take(tokens, n, 2), 'The state it needs', x => x < 1e6 ? `${(x/1e3).toFixed(0)} kB` : `${(x/1e6).toFixed(1)} MB`),
        bars(take(training, held, 1), `Training, sequences of ${held.toLocaleString('en')}`, x => `${Math.round(x).toLocaleString('en')} tokens/s`));
    };
    draw();
    return [slider('Position', [Math.log2(lengths[0]), Math.log2(lengths.at(-1)), .25], state.n, n => { state.n = n; draw(); }, n => Math.round(2**n).toLocaleString('en'))];
  },
  // The exam: tasks can be left out, candidates are put in the order of one of them, and a cell shows its curves.
  exam({tasks, cells}, view) {
    const names = Object.keys(tasks), left = new Set(), listed = 'the list', state = {order: listed};
    const found = new Map(cells.map(cell => [`${cell.candidate}/${cell.task}`, cell]));
    const last = cell => {
      const shares = cell.runs.map(run => run.at(-1));
      return shares.includes(null) ? NaN : shares.reduce((a, b) => a + b)/shares.length;
    };
    const side = html('div', {class: 'mechanism-part exam-curves', 'aria-live': 'polite'}, html('p', {}, 'A cell shows its curves, one line per seed.'));
    const curves = ({candidate, task, runs}) => {
      const {sizes, unit, chance} = tasks[task], height = share => 8 + 120*(1 - share);
      const across = i => 36 + 200*i/Math.max(1, sizes.length - 1);
      const text = (x, y, words, anchor) => svg('text', {x, y, 'text-anchor': anchor, 'font-size': 11, fill: 'currentColor'}, words);
      const lines = runs.map((run, i) => svg('polyline', {fill: 'none', stroke: HUES[i%HUES.length], 'stroke-width': 2,
        points: run.map((share, j) => share === null ? '' : `${across(j)},${height(share)}`).join(' ')}));
      const guess = svg('line', {x1: 36, x2: 236, y1: height(chance), y2: height(chance), stroke: 'currentColor', 'stroke-dasharray': '4 3', opacity: .6});
      const marks = [text(30, 12, '100 %', 'end'), text(30, 131, '0', 'end'), ...sizes.map((size, i) => text(across(i), 146, size.toLocaleString('en'), 'middle'))];
      const says = `${candidate} on ${task}: right answers against ${unit}, one line per seed; dashed, what guessing gives`;
      side.replaceChildren(svg('svg', {width: 262, height: 152, role: 'img', 'aria-label': says}, guess, ...lines, ...marks), html('p', {}, says));
    };
    const square = (candidate, task) => {
      const cell = found.get(`${candidate}/${task}`);
      if (!cell) return html('td', {});
      const share = last(cell), words = Number.isNaN(share) ? 'cannot' : `${Math.round(100*share)} %`;
      const node = html('td', {'data-key': `${candidate}/${task}`, 'data-grade': cell.grade, tabindex: 0}, words);
      for (const event of ['mouseenter', 'focus', 'click']) node.addEventListener(event, () => curves(cell));
      return node;
    };
    const draw = () => {
      const shown = names.filter(name => !left.has(name)), rows = [...new Set(cells.map(cell => cell.candidate))];
      const place = candidate => found.has(`${candidate}/${state.order}`) ? -(last(found.get(`${candidate}/${state.order}`)) || 0) : 1;
      if (state.order !== listed) rows.sort((a, b) => place(a) - place(b));
      const head = html('tr', {}, html('th', {}, 'candidate'), ...shown.map(name => html('th', {}, name)));
      const body = rows.map(candidate => html('tr', {}, html('th', {}, candidate), ...shown.map(task => square(candidate, task))));
      view(html('div', {class: 'exam-table'}, html('table', {}, head, ...body)), side);
    };
    draw();
    const columns = names.map(name => tick(name, on => { left[on ? 'delete' : 'add'](name); draw(); }, true));
    return [choice('Order by', [listed, ...names], name => { state.order = name; draw(); }), ...columns];
  },

  // A text runs by, several memories read it, and somebody asks them what one of its people likes.
  memories({names, things, story, weights, titles, step, window, bucket, plays}, view) {
    const kinds = Object.keys(titles), models = mapped(weights, own => mapped(own, o => unpacked(o, step))), likes = names.length + things.length;
    const written = story.map(o => [...o]), state = {read: 0, asked: story[0][0]};
    const ids = () => written.flatMap(([name, thing]) => [name, likes, names.length + thing, likes + 1]);
    const words = () => written.flatMap(([name, thing]) => [names[name], 'likes', things[thing], '.']);
    const said = () => written.filter(([name], i) => name === state.asked && 4*i + 2 < state.read).map(o => things[o[1]]);
    const text = html('div', {class: 'memory-text', role: 'group', 'aria-label': 'The text: choose whom to ask about'});
    const question = html('p', {class: 'memory-question', 'aria-live': 'polite'}), panels = html('div', {class: 'memory-panels'});
    const details = html('details', {}, html('summary', {}, `What each memory gives to each of the ${things.length} things`)), table = html('div');
    const panel = (kind, found, right) => {
      const says = things[found.says.indexOf(Math.max(...found.says))], looked = found.kept && found.kept.filter(i => i < state.read).length;
      const verdict = right ? html('span', says === right ? {role: 'img', 'aria-label': 'right'} : {role: 'img', 'aria-label': 'wrong'}, says === right ? '✓' : '✗') : '';
      return html('section', {'data-kind': kind, 'aria-label': titles[kind]}, memoryPicture(found, words(), state.read),
        html('div', {}, html('p', {class: 'memory-title'}, titles[kind], verdict), ...memoryAnswers(found.says, things),
          html('p', {}, html('span', {class: 'memory-bytes'}, `${kept[kind](state.read, window).toLocaleString('en')} bytes`),
            found.S ? ', one matrix' : `, compares ${looked} of ${state.read}`)));
    };
    const draw = () => {
      const {read, asked} = state, known = said(), name = names[asked];
      const asking = [...ids().slice(0, read), asked, likes], found = Object.fromEntries(kinds.map(kind => [kind, answer(kind, models[kind], asking, {window, bucket})]));
      const asks = `What does ${name} like? ${known.length ? `The text says ${known.join(', and then ')}.` : 'The text has not said it yet.'}`;
      if (question.textContent !== asks) question.textContent = asks;
      panels.replaceChildren(...kinds.map(kind => panel(kind, found[kind], known.at(-1))));
      table.replaceChildren(numbers([['', things], ...kinds.map(kind => [titles[kind], found[kind].says, kind])]));
      [...text.children].forEach((fact, i) => {
        fact.setAttribute('aria-pressed', written[i][0] === asked);
        [...fact.children].forEach((word, j) => { word.className = 4*i + j < read ? 'read' : ''; });
      });
      again.textContent = `Say that ${name} likes something else`;
    };
    const facts = () => text.replaceChildren(...written.map(([name, thing]) => {
      const fact = html('button', {type: 'button'}, ...[`${names[name]} `, 'likes ', things[thing], '.'].map(word => html('span', {}, word)));
      fact.addEventListener('click', () => { state.asked = name; draw(); });
      return fact;
    }));
    text.addEventListener('keydown', event => {
      const way = {ArrowRight: 'nextElementSibling', ArrowLeft: 'previousElementSibling'}[event.key];
      if (way) document.activeElement[way]?.focus();
    });
    const control = slider('Words read', [0, ids().length, 1], 0, n => { stop(); state.read = n; draw(); });
    const to = n => {
      control.querySelector('input').max = ids().length;
      state.read = n;
      control.move(n);
      draw();
    };
    const {button, stop, start} = player(() => { to(state.read + 1); return state.read < ids().length; }, () => { if (state.read === ids().length) to(0); }, 170);
    const rewrite = change => { stop(); change(); facts(); to(ids().length); };
    const again = html('button', {type: 'button', class: 'mechanism-play'}), back = html('button', {type: 'button', class: 'mechanism-play'}, 'Start again');
    again.addEventListener('click', () => rewrite(() => {
      const [, last] = written.filter(([name]) => name === state.asked).at(-1);
      written.push([state.asked, (last + 5)%things.length]);
    }));
    back.addEventListener('click', () => rewrite(() => written.splice(0, Infinity, ...story.map(o => [...o]))));
    details.append(table);
    facts();
    view(text, question, panels, details);
    to(ids().length);
    if (plays) start();
    return [button, control, again, back];
  },
};

function touch(figure) {
  const {mechanism, numbers} = figure.dataset, parts = html('div', {class: 'mechanism-parts'});
  const view = (...nodes) => parts.replaceChildren(...nodes);
  const controls = mechanisms[mechanism](JSON.parse(numbers), view);
  figure.replaceChildren(html('div', {class: 'mechanism-controls'}, ...controls), parts);
}
document.addEventListener('DOMContentLoaded', () => document.querySelectorAll('figure.mechanism').forEach(touch));
