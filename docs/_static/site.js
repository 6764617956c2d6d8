// Browsers let no page read files next to it, so search shows excerpts only when the site comes from a server.
if (typeof DOCUMENTATION_OPTIONS !== 'undefined') DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = location.protocol !== 'file:';

async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.body.appendChild(document.createElement('textarea'));  // pages served without https
  area.value = text;
  area.select();
  document.execCommand('copy');
  area.remove();
}

// The drawings of the buttons for day and night, which do nothing without scripts: once here, not in every page.
function drawThemeButtons() {
  const icons = {'auto-light': 'sun-with-moon', 'auto-dark': 'moon-with-sun', dark: 'moon', light: 'sun'};
  const drawn = Object.entries(icons).map(([when, icon]) => `<svg class="theme-icon-when-${when} i-${icon}" aria-hidden="true"></svg>`);
  for (const button of document.querySelectorAll('.theme-toggle')) button.innerHTML = drawn.join('');
}

// The parts of the menu that a page does not belong to have one link; the script menu.js knows their pages.
function fillMenu() {
  const root = document.documentElement.dataset.content_root || './';
  const made = (tag, ...children) => { const o = document.createElement(tag); o.append(...children); return o; };
  for (const part of document.querySelectorAll('.menu details')) {
    const link = part.querySelector(':scope > a'), groups = MENU[part.dataset.part];
    if (!link) continue;
    const entry = ([name, title, minutes]) => {
      const a = Object.assign(made('a', title), {href: `${root}${name}.html`, title: `${minutes} minutes`});
      return made('li', a);
    };
    link.replaceWith(...groups.flatMap(([name, pages]) => [...groups.length > 1 ? [made('p', name)] : [], made('ul', ...pages.map(entry))]));
  }
}

// The menu opens at the page that is read.
function showCurrentPage() {
  const current = document.querySelector('.menu .current-page > a'), scroll = document.querySelector('.sidebar-scroll');
  if (!current || !scroll) return;
  const place = current.getBoundingClientRect(), frame = scroll.getBoundingClientRect();
  if (place.top >= frame.top && place.bottom <= frame.bottom - 40) return;
  const top = scroll.scrollTop + place.top - frame.top - frame.height/3;
  scroll.scrollTo({top, behavior: 'instant'});  // the theme would let it glide there
}

// What lies inside something folded opens when a link leads to it.
function openTarget() {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let o = target; o; o = o.parentElement) if (o.tagName === 'DETAILS') o.open = true;
  const part = target && target.closest('section');
  const entry = part && (part === target || part === target.parentElement) && part.querySelector(':scope > details.api');
  if (entry) entry.open = true;
  if (target) target.scrollIntoView({behavior: 'instant'});
}

// One button opens all that is folded on a page, and closes it again.
function foldAll() {
  const folded = [...document.querySelectorAll('article details')], place = document.querySelector('.origin');
  if (folded.length < 2 || !place) return;
  const button = Object.assign(document.createElement('button'), {className: 'fold-all', type: 'button'});
  const name = () => { button.textContent = button.getAttribute('aria-pressed') === 'true' ? 'Fold all code' : 'Open all code'; };
  button.setAttribute('aria-pressed', 'false');
  button.addEventListener('click', () => {
    const open = button.getAttribute('aria-pressed') !== 'true';
    for (const o of folded) o.open = open;
    button.setAttribute('aria-pressed', open);
    name();
  });
  name();
  place.append(' · ', button);
}

// A paper is shown while the mouse or the keyboard is on its citation.
function previewCitations() {
  let shown = null;
  const hide = () => { if (shown) { shown.citation.removeAttribute('aria-describedby'); shown.remove(); shown = null; } };
  const show = citation => {
    hide();
    shown = document.body.appendChild(document.createElement('div'));
    Object.assign(shown, {className: 'preview', id: 'preview', textContent: papers.get(citation.href), citation});
    shown.setAttribute('role', 'tooltip');
    citation.setAttribute('aria-describedby', 'preview');
    const place = citation.getBoundingClientRect(), above = place.top > shown.offsetHeight + 80;
    shown.style.left = `${Math.max(8, Math.min(place.left, document.documentElement.clientWidth - shown.offsetWidth - 8)) + scrollX}px`;
    shown.style.top = `${(above ? place.top - shown.offsetHeight - 6 : place.bottom + 6) + scrollY}px`;
  };
  const papers = new Map([...document.querySelectorAll('a.cite[data-paper]')].map(first => [first.href, first.dataset.paper]));
  for (const citation of document.querySelectorAll('a.cite')) {
    citation.addEventListener('mouseenter', () => show(citation));
    citation.addEventListener('focus', () => show(citation));
    citation.addEventListener('mouseleave', hide);
    citation.addEventListener('blur', hide);
  }
  document.addEventListener('keydown', event => { if (event.key === 'Escape') hide(); });
}

// Claims can be chosen by document, verdict and words; as long as nothing is chosen, the tables are folded. Without scripts all are there.
function filterClaims() {
  const tables = [...document.querySelectorAll('table.ledger')], rows = [...document.querySelectorAll('table.ledger tbody tr')];
  if (rows.length < 6) return;
  const title = o => { const copy = o.cloneNode(true); copy.querySelectorAll('.headerlink').forEach(link => link.remove()); return copy.textContent.trim(); };
  const parts = new Map(tables.map(table => [table, title(table.closest('section').querySelector('h1, h2, h3, h4'))]));
  const choice = (label, names) => {
    const box = document.createElement('select');
    box.setAttribute('aria-label', label);
    for (const name of [label, ...new Set(names)]) box.add(new Option(name, name === label ? '' : name));
    return box;
  };
  const source = choice('All documents', parts.values()), verdict = choice('All verdicts', rows.map(row => row.dataset.verdict).sort());
  const search = Object.assign(document.createElement('input'), {type: 'search', placeholder: 'Words'});
  search.setAttribute('aria-label', 'Words in the claim');
  const count = document.createElement('output'), bar = document.createElement('form');
  bar.className = 'claims-filter';
  const firm = Object.assign(document.createElement('input'), {type: 'checkbox'}), label = document.createElement('label');
  label.append(firm, ' only ◆');
  label.title = 'Verdicts that remain under Holm’s correction of all claims';
  bar.append(source, verdict, search, label, count);
  const folds = tables.map(table => table.closest('details'));
  for (const fold of folds) fold.open = false;
  const choose = () => {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let seen = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = Boolean((source.value && parts.get(row.closest('table')) !== source.value) || (verdict.value && row.dataset.verdict !== verdict.value)
        || (firm.checked && !row.hasAttribute('data-firm')) || !wanted.every(word => text.includes(word)));
      seen += !row.hidden;
    }
    const chosen = Boolean(source.value || verdict.value || firm.checked || wanted.length);
    for (const fold of folds) {
      const found = fold.querySelectorAll('tbody tr:not([hidden])').length;
      const part = fold.closest('section');
      fold.hidden = !found;
      part.hidden = !found && !part.contains(bar);
      fold.open = chosen && found > 0;
      fold.querySelector('summary').dataset.shown = chosen ? `, ${found} shown` : '';
    }
    count.textContent = `${seen} of ${rows.length} claims`;
  };
  bar.addEventListener('input', () => {
    choose();
    const first = folds.find(fold => !fold.hidden)?.closest('section');
    if (first && scrollY < first.offsetTop - innerHeight/2) first.scrollIntoView({behavior: 'instant'});
  });
  window.addEventListener('hashchange', () => {  // a link to a claim that was not chosen
    if (document.getElementById(decodeURIComponent(location.hash.slice(1)))?.hidden) { bar.reset(); choose(); }
  });
  bar.addEventListener('submit', event => event.preventDefault());
  // It stands above all parts, so that it stays in sight along them; what is chosen is brought to it.
  const place = tables[0].closest('section');
  (document.querySelector('article section section') || place).before(bar);
  choose();
}

// On a narrow screen the drawers cover the text: a link in them closes them, and keys open them too.
function useDrawers() {
  for (const [drawer, name] of [['.toc-drawer', '__toc'], ['.sidebar-drawer', '__navigation']]) {
    const box = document.getElementById(name);
    document.querySelector(drawer)?.addEventListener('click', event => {
      if (event.target.closest('a')) box.checked = false;
    });
    for (const label of document.querySelectorAll(`label:not(.overlay)[for=${name}]`)) {
      label.tabIndex = 0;
      label.setAttribute('role', 'button');
      label.addEventListener('keydown', event => {
        if (event.key !== 'Enter' && event.key !== ' ') return;
        event.preventDefault();
        box.checked = !box.checked;
      });
    }
  }
}

// While one types, pages are found by their titles first, then by what readers call them, by what they are about, and by their headings.
const FILLERS = new Set(['a', 'an', 'and', 'can', 'do', 'for', 'how', 'i', 'in', 'is', 'it', 'my', 'of', 'on', 'the', 'to', 'with']);
const worded = text => text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) || [];
function findPages(query) {
  const all = worded(query), content = all.filter(word => !FILLERS.has(word)), words = content.length ? content : all;
  if (!words.length) return [];
  const weights = [10, 3, 9, 2];  // of title, description, other names and headings
  const scored = PAGES.map(([page, ...fields]) => {
    const parts = fields.map(worded);
    const points = words.map(word => Math.max(...parts.map((part, i) => weights[i]*(part.includes(word) ? 1 : part.some(o => o.startsWith(word)) ? .8 : 0))));
    const phrase = all.join(' '), called = parts[2].join(' '), title = parts[0].join(' ');
    const bonus = (` ${called}`.includes(` ${phrase}`) ? 12 : 0) + (title.startsWith(phrase) ? 6 : 0) + 2/(1 + parts[0].length);
    return {page, title: fields[0], text: fields[1], score: points.every(Boolean) ? points.reduce((a, b) => a + b, 0) + bonus : 0};
  });
  return scored.filter(o => o.score).sort((a, b) => b.score - a.score).slice(0, 8);
}
function searchAsYouType() {
  const root = document.documentElement.dataset.content_root || './', box = document.querySelector('.sidebar-search');
  if (!box) return;
  box.autocomplete = 'off';
  const list = document.createElement('ul'), close = () => list.replaceChildren();
  list.className = 'found';
  list.setAttribute('aria-label', 'Pages found');
  box.closest('form').after(list);
  const show = () => list.replaceChildren(...findPages(box.value).map(({page, title, text}) => {
    const item = document.createElement('li'), link = Object.assign(document.createElement('a'), {href: `${root}${page}.html`, textContent: title, title: text});
    item.append(link);
    return item;
  }));
  box.addEventListener('focus', () => {
    if (typeof PAGES !== 'undefined' || document.getElementById('pages-script')) return;
    document.head.append(Object.assign(document.createElement('script'), {id: 'pages-script', src: `${root}_static/pages.js`, onload: show}));
  }, {once: true});
  box.addEventListener('input', () => { if (typeof PAGES !== 'undefined') show(); });
  box.closest('.sidebar-sticky').addEventListener('keydown', event => {
    const links = [...list.querySelectorAll('a')], at = links.indexOf(document.activeElement);
    if (event.key === 'Escape') { close(); box.focus(); }
    const next = {ArrowDown: links[at + 1], ArrowUp: at > 0 ? links[at - 1] : box}[event.key];
    if (!next || !links.length) return;
    event.preventDefault();
    next.focus();
  });
}

document.addEventListener('DOMContentLoaded', () => {
  fillMenu();
  searchAsYouType();
  showCurrentPage();
  drawThemeButtons();
  filterClaims();
  openTarget();
  window.addEventListener('hashchange', openTarget);
  foldAll();
  useDrawers();
  previewCitations();
  for (const block of document.querySelectorAll('.cell_input div.highlight, div.highlight-python div.highlight, div.highlight-sh div.highlight, div.highlight-bash div.highlight, div.highlight-bibtex div.highlight, details div.highlight')) {
    const button = document.createElement('button');
    button.className = 'copy';
    button.type = 'button';
    button.textContent = 'Copy';
    button.setAttribute('aria-label', 'Copy this code');
    button.title = 'Paste it into a notebook or into IPython, after the imports';
    button.addEventListener('click', async () => {
      await copy(block.querySelector('pre').innerText);
      button.textContent = 'Copied';
      setTimeout(() => { button.textContent = 'Copy'; }, 1500);
    });
    block.append(button);
  }
});
