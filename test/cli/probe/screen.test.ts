import { expect, test, vi } from 'vitest';
import { linesOf } from '../../../cli/probe/screen.ts';
import type { Sighting } from '../../../cli/probe/sightings/sighting.ts';

const SIGHTINGS: Sighting[] = [
  { id: 'export-id-field', verdict: 'as assumed', what: 'It is in id.' },
  { id: 'email-flag', verdict: 'cannot be seen', what: 'To try it would send somebody a mail.' },
  { id: 'file-host', verdict: 'otherwise', what: 'Files come from \u001b[31mfiles.crm.example.', means: 'setting' },
];

test('a pipe gets plain, whole lines, what is otherwise first', () => {
  expect(linesOf(SIGHTINGS, {})).toEqual([
    '3 open points: 1 as assumed, 1 otherwise, 1 cannot be seen.',
    '✗ file-host              otherwise: Files come from files.crm.example.',
    '    -> The setting crm.fileHosts expresses it (docs/configuration.md).',
    '✓ export-id-field        as assumed: It is in id.',
    '- 1 point cannot be seen by any probe; --all says why.',
  ]);
  expect(linesOf(SIGHTINGS, {}, true).at(-1)).toBe(
    '- email-flag             cannot be seen: To try it would send somebody a mail.',
  );
});

test.each([80, 120])('a terminal of %i columns gets lines that fit, and no word is lost', (columns) => {
  vi.stubEnv('NO_COLOR', '1');
  const what = `${'It is another word than the four of the document. '.repeat(5)}End.`;
  const lines = linesOf([{ id: 'status-words', verdict: 'otherwise', what, means: 'code' }], { isTTY: true, columns });

  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(columns);
  expect(lines.join(' ').replace(/\s+/g, ' ')).toContain(what);
});

test('a terminal gets colours, unless NO_COLOR says otherwise', () => {
  vi.stubEnv('NO_COLOR', '');
  expect(linesOf(SIGHTINGS, { isTTY: true, columns: 120 })[1]).toContain('\u001b[31m✗ file-host\u001b[39m  ');
  vi.stubEnv('NO_COLOR', '1');
  expect(linesOf(SIGHTINGS, { isTTY: true, columns: 120 }).join('')).not.toContain('\u001b');
});
