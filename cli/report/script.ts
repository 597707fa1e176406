/**
 * The script of the page. Without it, every cell links to its facts; with it, they open in a dialog, and the grid is
 * one tab stop with arrow keys.
 */
export const SCRIPT = `
document.documentElement.classList.add('scripted');
const rows = [...document.querySelectorAll('.grid tbody tr')].map((row) => [...row.cells].slice(1));
const links = [...document.querySelectorAll('.grid a.cell')];
const enter = (link) => {
  for (const other of links) other.tabIndex = other === link ? 0 : -1;
};
const newest = rows.map((cells) => cells.findLast((cell) => cell.querySelector('a'))).find((cell) => cell);
enter(newest && newest.querySelector('a'));
document.addEventListener('click', (event) => {
  const opener = event.target.closest('[data-facts]');
  if (opener) {
    event.preventDefault();
    document.getElementById(opener.dataset.facts).showModal();
  }
  const closer = event.target.closest('.close');
  if (closer || event.target.tagName === 'DIALOG') {
    event.preventDefault();
    event.target.closest('dialog').close();
  }
});
document.addEventListener('focusin', (event) => {
  if (links.includes(event.target)) enter(event.target);
});
const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
document.addEventListener('keydown', (event) => {
  const step = STEPS[event.key];
  const cell = event.target.closest('.grid td');
  if (!step || !cell) return;
  event.preventDefault();
  let row = rows.findIndex((cells) => cells.includes(cell));
  let column = rows[row].indexOf(cell);
  for (;;) {
    row += step[0];
    column += step[1];
    const next = rows[row] && rows[row][column];
    if (!next) return;
    const link = next.querySelector('a');
    if (link) return link.focus();
  }
});
const linked = location.hash && document.getElementById(location.hash.slice(1));
if (linked && linked.tagName === 'DIALOG') linked.showModal();
`;
