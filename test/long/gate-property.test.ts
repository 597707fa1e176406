import { expect, test } from 'vitest';
import { pythonWith } from '../support/python-with.ts';
import { TEST_SEED } from '../support/seeds.ts';
import { type Case, runCase } from './support/gate/cases.ts';
import { type Judged, judgeFiles } from './support/gate/oracle.ts';

/**
 * Tests thousands of good and bad nights with the publishing step: it publishes no file in which the Python oracle
 * finds a broken promise, and it publishes every good file of an ordinary service.
 */

const CASES = process.env.CI ? 400 : 3000;

const printLines = (lines: readonly string[]) => process.stdout.write(`${lines.join('\n')}\n`);

test('publishes every good file, and no file that breaks a promise', async () => {
  const cases: Case[] = [];
  for (let number = 0; number < CASES; number += 1)
    cases.push(await runCase(String(TEST_SEED), number, ['csv', 'xlsx']));

  const published = cases.filter(({ end }) => end.ended === 'PUBLISHED');
  const stopped = cases.filter(({ fault, end }) => fault !== null && end.ended !== 'PUBLISHED');
  const interpreter = await pythonWith('workbooks', 'long');
  const judged = await judgeFiles(interpreter, published);
  const found = (await judgeFiles(interpreter, stopped)).filter((each) => each.broken.length > 0);
  const good = cases.filter(({ fault }) => fault === null);
  const withheld = good.filter(({ end }) => end.ended !== 'PUBLISHED');
  const broken = judged.filter((each) => each.broken.length > 0);
  printLines([
    `published and judged: ${published.length}, a promise broken: ${broken.length}`,
    `good: ${good.length}, withheld: ${withheld.length}`,
    `bad and withheld: ${stopped.length}, of which Python finds a promise broken in ${found.length}`,
    ...kindsOf(cases),
  ]);

  expect(withheld.map(({ number, end }) => `${number}: ${end.ended} ${end.cause}`)).toEqual([]);
  expect(broken.map((each) => lineOf(each, cases))).toEqual([]);
  // The oracle would have found the broken promises.
  expect(found.length).toBeGreaterThan(stopped.length * 0.7);
  expect(cases.filter(leaks).map(({ number }) => number)).toEqual([]);
});

const lineOf = ({ number, broken }: Judged, cases: Case[]) =>
  `${number} (${cases[number]?.fault}): ${broken.join('; ')}`;

/** Whether the texts about a file contain a value of it. */
const leaks = ({ end: { told: text } }: Case) => /\.\d+=|1d000000-|\+97257|31234\d{4}/.test(text);

/** For each kind of bad file, the number of withheld files and the checks that stopped them. */
function kindsOf(cases: readonly Case[]): string[] {
  const kinds = Map.groupBy(
    cases.filter(({ fault }) => fault !== null),
    ({ fault }) => fault,
  );
  return [...kinds].map(([kind, files]) => {
    const by = Map.groupBy(files, ({ end }) => [end.ended, ...end.stoppedBy].join(' '));
    const ends = [...by].map(([end, { length }]) => `${length} ${end}`);
    return `${kind}: ${ends.join(', ')}`;
  });
}
