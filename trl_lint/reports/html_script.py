"""What the pages do besides being read: filters, and two runs side by side."""

# It only hides and shows what is there, and puts text in as text.
FILTER = """(() => {
const form = document.querySelector('form.filter'), told = document.getElementById('shown');
const all = [...document.querySelectorAll('[data-rule]')];
const has = (list, one) => !one || (' ' + list + ' ').includes(' ' + one + ' ');
const show = () => {
  const want = new FormData(form), levels = want.getAll('level'), word = want.get('word').trim().toLowerCase();
  let count = 0;
  for (const one of all) {
    const is = one.dataset;
    one.hidden = !(levels.includes(is.level) && has(is.rule, want.get('rule')) && has(is.files, want.get('file')) &&
      has(is.runs || '', want.get('run')) &&
      (!word || one.closest('details').textContent.toLowerCase().includes(word)));
    count += !one.hidden;
  }
  for (const box of document.querySelectorAll('.entry, .group'))
    box.hidden = !box.querySelector('[data-rule]:not([hidden])');
  told.textContent = count + ' of ' + all.length + ' findings shown';
};
form.hidden = false;
form.addEventListener('input', show);
form.addEventListener('submit', event => event.preventDefault());
form.addEventListener('reset', () => setTimeout(show));
show();
})();"""

COMPARE = """(() => {
const form = document.querySelector('form.filter'), out = document.getElementById('compared');
const values = run => new Map([...document.querySelectorAll('#run' + run + ' > .wide tbody tr')].map(
  row => [row.cells[0].textContent, row.cells[1].textContent]));
const show = () => {
  const want = new FormData(form), one = want.get('one'), other = want.get('other');
  out.replaceChildren();
  if (!one || !other) return;
  const a = values(one), b = values(other), table = document.createElement('table');
  const add = (cells, kind) => {
    const row = table.insertRow();
    cells.forEach((text, at) => {
      const cell = row.appendChild(document.createElement(at ? 'td' : 'th'));
      cell.textContent = text;
      if (kind && at) cell.className = kind;
    });
  };
  const names = ['one', 'other'].map(name => form.elements[name].selectedOptions[0].textContent);
  add(['value', ...names, ''], '');
  let count = 0;
  for (const name of [...new Set([...a.keys(), ...b.keys()])].sort()) {
    const alike = a.get(name) === b.get(name);
    if (alike && !want.get('alike')) continue;
    count += !alike;
    add([name, a.get(name) ?? 'default', b.get(name) ?? 'default', alike ? '' : '≠ differs'], alike ? '' : 'other');
  }
  const told = document.createElement('p');
  told.textContent = count + (count === 1 ? ' value differs' : ' values differ');
  out.append(told, table);
};
form.hidden = false;
form.addEventListener('input', show);
form.addEventListener('submit', event => event.preventDefault());
})();"""
