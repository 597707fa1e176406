import { randomUUID } from 'node:crypto';
import { expect, inject, test } from 'vitest';
import { type Case, runCase } from './support/gate/cases.ts';
import { type Judged, judgePublished } from './support/gate/oracle.ts';

/**
 * Thousands of nights, good ones and bad ones, through the step that publishes: nothing is published of which Python finds
 * a promise broken, and every good file of an ordinary service is published.
 */

const CASES = process.env.CI ? 400 : 4000;
/** The same files again: `GATE_SEED=… npx vitest run --project long test/long/gate-property.test.ts`. */
const SEED = process.env.GATE_SEED ?? randomUUID().slice(0, 8);

const told = (lines: readonly string[]) => process.stdout.write(`${lines.join('\n')}\n`);

test('nothing is published that breaks a promise, and every good file is published', async () => {
  told([`GATE_SEED=${SEED}, ${CASES} files`]);
  const cases: Case[] = [];
  for (let number = 0; number < CASES; number += 1) cases.push(await runCase(SEED, number, ['csv', 'xlsx']));

  const published = cases.filter(({ end }) => end.ended === 'PUBLISHED');
  const judged = await judgePublished(inject('cloud').python, published);
  const good = cases.filter(({ fault }) => fault === null);
  const withheld = good.filter(({ end }) => end.ended !== 'PUBLISHED');
  const broken = judged.filter((each) => each.broken.length > 0);
  told([
    `published and judged: ${published.length}, a promise broken: ${broken.length}`,
    `good: ${good.length}, withheld: ${withheld.length}`,
    ...kindsOf(cases),
  ]);

  expect(withheld.map(({ number, end }) => `${number}: ${end.ended} ${end.cause}`)).toEqual([]);
  expect(broken.map((each) => lineOf(each, cases))).toEqual([]);
  expect(cases.filter(leaks).map(({ number }) => number)).toEqual([]);
});

const lineOf = ({ number, broken }: Judged, cases: Case[]) =>
  `${number} (${cases[number]?.fault}): ${broken.join('; ')}`;

/** What is told of a file holds no value of it. */
const leaks = ({ end: { told: text } }: Case) => /\.\d+=|1d000000-|\+97257|31234\d{4}/.test(text);

/** Of each kind of bad files: how many were withheld, and by what. */
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
