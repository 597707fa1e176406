import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type LineOutcome, parseResults, resultLineText } from '../../../core/batch/batch-results.ts';
import { latestResults } from '../../../core/batch/failed-lines.ts';
import { bytesOf, idOf, textOf } from '../updates/support/lines.ts';

const result = (line: number, outcome: LineOutcome) => ({
  line,
  id: idOf(line),
  outcome,
  ...{ error: null, status: null, attempts: 1, at: null },
});
const bytes = (lines: number[], outcome: LineOutcome) =>
  bytesOf(lines.map((line) => resultLineText(result(line, outcome))).join(''), 77);

test('takes the later result of each line, in order of lines, for any two sets of lines', async () => {
  const lines = fc.uniqueArray(fc.integer({ min: 1, max: 20 })).map((all) => all.toSorted((a, b) => a - b));
  await fc.assert(
    fc.asyncProperty(lines, lines, async (first, later) => {
      const merged = parseResults(await textOf(latestResults(bytes(first, 'FAILED'), bytes(later, 'APPLIED'))));

      const all = [...new Set([...first, ...later])].sort((a, b) => a - b);
      expect(merged).toEqual(all.map((line) => result(line, later.includes(line) ? 'APPLIED' : 'FAILED')));
    }),
  );
});
