// Shows the findings that the form asks for. It only hides and shows what is there.
(() => {
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
})();
