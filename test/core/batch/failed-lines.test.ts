import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type LineOutcome, OUTCOMES, type ResultLine, resultLineText } from '../../../core/batch/batch-results.ts';
import { failedLines, resultsIn } from '../../../core/batch/failed-lines.ts';
import { failureOf } from '../../support/failures.ts';
import { allOf, bytesOf, idOf, textOf } from '../updates/support/lines.ts';

const input = (n: number) => `{"id":"${idOf(n)}", "notes":"ש ${n}"}\n`;
const result = (line: number, outcome: LineOutcome, id = idOf(line)): ResultLine => ({
  line,
  id,
  outcome,
  error: null,
  status: null,
  attempts: 1,
  at: null,
});
const failed = (lines: string, results: ResultLine[], purpose: 'correct' | 'resume' = 'correct') => {
  const stored = resultsIn(bytesOf(results.map(resultLineText).join(''), 33));
  return textOf(failedLines(bytesOf(lines, 40), stored, purpose));
};

test('returns the lines that were not applied, unchanged', async () => {
  const lines = `\n${input(2)}\n${input(4)}${input(5)}`;

  expect(await failed(lines, [result(2, 'REJECTED'), result(4, 'APPLIED'), result(5, 'UNKNOWN')])).toBe(
    input(2) + input(5),
  );
});

test('keeps the number of each line in place, also of a text that is longer than a piece', async () => {
  const long = (line: number) => input(line).replace('ש', 'x'.repeat(600_000));
  const stored = resultsIn(bytesOf(resultLineText(result(2, 'APPLIED'))));

  const pieces = await allOf(failedLines(bytesOf([1, 2, 3, 4].map(long).join('')), stored, 'resume'));

  expect(pieces.length).toBeGreaterThan(1);
  expect(Buffer.concat(pieces).toString()).toBe(`${long(1)}\n${long(3)}${long(4)}`);
});

test('of several results for a line, the last counts', async () => {
  const first = [1, 2, 3].map((line) => result(line, 'FAILED'));

  expect(await failed([1, 2, 3].map(input).join(''), [...first, result(1, 'APPLIED'), result(3, 'APPLIED')])).toBe(
    input(2),
  );
});

test('for a resume, empty lines replace those that were applied or rejected', async () => {
  const outcome = fc.constantFrom(undefined, ...(Object.keys(OUTCOMES) as LineOutcome[]));
  await fc.assert(
    fc.asyncProperty(fc.array(outcome, { maxLength: 30 }), async (outcomes) => {
      const results = outcomes.flatMap((each, index) => (each ? [result(index + 1, each)] : []));
      const lines = outcomes.map((_, index) => input(index + 1));
      const kept = outcomes.map((each, index) => (each === 'APPLIED' || each === 'REJECTED' ? '\n' : lines[index]));

      expect(await failed(lines.join(''), results, 'resume')).toBe(
        kept.join('').replace(/\n+$/, '\n').replace(/^\n+$/, ''),
      );
    }),
  );
});

test.each<[string, ResultLine[]]>([
  ['another id', [result(1, 'APPLIED', idOf(9))]],
  ['a line after the end of the input', [result(1, 'APPLIED'), result(2, 'APPLIED'), result(3, 'APPLIED')]],
])('refuses results with %s, which belong to another input', async (_, results) => {
  await failureOf(failed(input(1) + input(2), results), 'StorageConflict');
});

test.each([
  ['result', () => allOf(resultsIn(bytesOf('{"Canary":1}\n'))), 'StorageConflict'],
  ['input line', () => failed('{"id":"Canary"}\n', []), 'UpdateFileInvalid'],
] as const)('refuses an invalid %s without quoting it', async (_, read, name) => {
  expect((await failureOf(read(), name)).message).not.toContain('Canary');
});
