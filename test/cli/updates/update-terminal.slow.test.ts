import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { tempDir } from '../../support/project.ts';
import { inTerminal } from '../../support/pty.ts';
import { expectTexts } from '../../support/screen.ts';
import { updatingCloud } from '../support/cloud/updates.ts';
import { jsonl, people, withBatch } from '../support/sent-batch.ts';

/** Runs the command as a person does, in a terminal of the operating system. */

/** Updates two customers from a file, and waits for the question. */
async function questioned({ looks = 2, size = 'cols 100 rows 30' } = {}) {
  const cloud = await updatingCloud({ looks });
  const file = join(await tempDir(), 'customers.csv');
  await writeFile(file, 'id,city\n3f2504e0-4f89-41d3-9a0c-000000000001,A\n3f2504e0-4f89-41d3-9a0c-000000000002,B\n');
  const terminal = inTerminal(['cli/main.js', 'update', file, ...cloud.place], { size });
  await terminal.shows(QUESTION);
  return { ...cloud, ...terminal };
}

const QUESTION = /\[y\/N\] /;

/** The last line of a terminal. */
const lastLine = (shown: string) =>
  stripVTControlCharacters(shown)
    .trimEnd()
    .split(/[\r\n]+/)
    .at(-1) ?? '';

test('the answer yes sends the updates, and progress is shown', async () => {
  const { type, ended, shown, asked } = await questioned();
  type('y\r');
  expect(await ended, shown()).toBe(0);
  expect(shown()).toMatch(/1 of 2 lines .*2 of 2 lines \(100 %\)/s);
  expect(asked).toContain('StartExecution');
});

test('the answer no sends no update', async () => {
  const { type, ended, shown, asked } = await questioned();
  type('\r');
  expect(await ended).toBe(2);
  expect(asked).toEqual([]);
  const [question, end] = stripVTControlCharacters(shown())
    .trimEnd()
    .split(/[\r\n]+/)
    .slice(-2);
  await expectTexts('update-not-confirmed', [['a question without an answer', `${question}\n${end}`]]);
});

test('Ctrl-C at the question ends the command and sends no update', async () => {
  const { type, ended, asked } = await questioned();
  type('\x03');
  expect(await ended).not.toBe(0);
  expect(asked).toEqual([]);
});

test('Ctrl-C after the start, in a terminal without a size, does not stop the batch', async () => {
  const { type, shows, ended, shown, asked } = await questioned({ looks: 1000, size: 'cols 0 rows 0' });
  type('y\r');
  await shows(/1 of 2 lines/);
  type('\x03');
  expect(await ended, shown()).toBe(130);
  expect(asked).not.toContain('StopExecution');
});

test('resume is refused if another batch starts while the question waits', async () => {
  const UNKNOWN = { outcome: 'UNKNOWN', error: 'CrmUnavailable', status: null } as const;
  const lineOutcome = (_: number, batch: string) => (batch === 'later' ? {} : UNKNOWN);
  const { place, first, batches, objects } = await withBatch({ lineOutcome });
  const { type, shows, ended, shown } = inTerminal(['cli/main.js', 'update', '--resume', first, ...place], {});
  await shows(QUESTION);
  const startedAt = (batches.get(first)?.startedAt ?? 0) + 1;
  const input = JSON.stringify({ file: 'updates/later/input.jsonl' });
  batches.set('later', { name: 'later', batch: 'later', input, looks: 1, startedAt });
  objects.set('updates/later/input.jsonl', Buffer.from(jsonl(people(2))));
  objects.set('updates/later/_started.json', Buffer.from('{"execution":"later"}'));

  type('y\r');

  expect(await ended).toBe(2);
  expect(lastLine(shown())).toContain('later');
  expect([...batches.keys()]).toEqual([first, 'later']);
});
