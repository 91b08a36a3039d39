// Puts the values of two runs side by side, as text.
(() => {
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
})();
