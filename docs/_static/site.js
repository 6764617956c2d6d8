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

document.addEventListener('DOMContentLoaded', () => {
  for (const block of document.querySelectorAll('.cell_input div.highlight, div.highlight-python div.highlight, div.highlight-sh div.highlight, div.highlight-bash div.highlight')) {
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
