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

// The parts of the menu that a page does not belong to have one link; the script menu.js knows their pages.
function fillMenu() {
  const root = document.documentElement.dataset.content_root || './';
  document.querySelectorAll('.menu details').forEach((part, i) => {
    if (!part.querySelector('.elsewhere')) return;
    part.querySelector('ul').replaceChildren(...MENU[i].map(([name, title]) => {
      const link = Object.assign(document.createElement('a'), {href: `${root}${name}.html`, textContent: title}), item = document.createElement('li');
      item.append(link);
      return item;
    }));
  });
}

// The menu opens at the page that is read.
function showCurrentPage() {
  const current = document.querySelector('.menu .current-page'), scroll = document.querySelector('.sidebar-scroll');
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
    Object.assign(shown, {className: 'preview', id: 'preview', textContent: citation.dataset.paper, citation});
    shown.setAttribute('role', 'tooltip');
    citation.setAttribute('aria-describedby', 'preview');
    const place = citation.getBoundingClientRect(), above = place.top > shown.offsetHeight + 80;
    shown.style.left = `${Math.max(8, Math.min(place.left, document.documentElement.clientWidth - shown.offsetWidth - 8)) + scrollX}px`;
    shown.style.top = `${(above ? place.top - shown.offsetHeight - 6 : place.bottom + 6) + scrollY}px`;
  };
  for (const citation of document.querySelectorAll('a.cite[data-paper]')) {
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
  bar.append(source, verdict, search, count);
  const folds = tables.map(table => table.closest('details'));
  for (const fold of folds) fold.open = false;
  const choose = () => {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let seen = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = Boolean((source.value && parts.get(row.closest('table')) !== source.value) || (verdict.value && row.dataset.verdict !== verdict.value)
        || !wanted.every(word => text.includes(word)));
      seen += !row.hidden;
    }
    const chosen = Boolean(source.value || verdict.value || wanted.length);
    for (const fold of folds) {
      fold.hidden = ![...fold.querySelectorAll('tbody tr')].some(row => !row.hidden);
      fold.open = chosen && !fold.hidden;
    }
    count.textContent = `${seen} of ${rows.length} claims`;
  };
  bar.addEventListener('input', choose);
  window.addEventListener('hashchange', () => {  // a link to a claim that was not chosen
    if (document.getElementById(decodeURIComponent(location.hash.slice(1)))?.hidden) { bar.reset(); choose(); }
  });
  bar.addEventListener('submit', event => event.preventDefault());
  // It stands above the first part, outside of it, so that it stays in sight along all of them.
  const first = tables[0].closest('section'), around = first.parentElement.closest('section');
  if (around) first.before(bar); else tables[0].before(bar);
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

document.addEventListener('DOMContentLoaded', () => {
  fillMenu();
  showCurrentPage();
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
    button.addEventListener('click', async () => {
      await copy(block.querySelector('pre').innerText);
      button.textContent = 'Copied';
      setTimeout(() => { button.textContent = 'Copy'; }, 1500);
    });
    block.append(button);
  }
});
