import * as z from 'zod';
import { RunError } from '../errors.ts';
import { parseJson } from '../json.ts';
import { LONGEST_LINE, linesOf, measured } from '../updates/lines.ts';
import { type LineOutcome, type ResultLine, resultLineSchema } from './batch-results.ts';

/** Outcomes (`undefined`: no result) of lines to send again unchanged: rejected lines would be rejected again. */
export const TO_RESUME: readonly (LineOutcome | undefined)[] = ['FAILED', 'UNKNOWN', 'NOT_SENT', undefined];
/** Outcomes of lines to correct or to send again: all except APPLIED. */
const NOT_APPLIED: typeof TO_RESUME = ['REJECTED', ...TO_RESUME];

/**
 * The lines of an input that are left to correct or to send again, byte for byte, as a new input.
 *
 * @param results of a line with several results, the last counts
 * @param purpose `resume`: only lines to send again; empty lines replace the others, so that line numbers stay
 * @throws RunError `StorageConflict` if the results belong to another input
 */
export async function* failedLines(
  input: AsyncIterable<Uint8Array>,
  results: AsyncIterable<ResultLine>,
  purpose: 'correct' | 'resume',
): AsyncGenerator<Uint8Array> {
  const [outcomes, gap] = purpose === 'resume' ? [TO_RESUME, '\n'] : [NOT_APPLIED, ''];
  // The map takes about 130 bytes of memory per line.
  const resultByLine = new Map<number, Pick<ResultLine, 'id' | 'outcome'>>();
  for await (const { line, id, outcome } of results) resultByLine.set(line, { id, outcome });
  let kept = '';
  let before = 0;
  for await (const { line, text } of numberedLines(input)) {
    const id = idOf(text, line);
    if (id === undefined) continue;
    const result = resultByLine.get(line);
    if (result && result.id !== id) throw mismatch(line);
    resultByLine.delete(line);
    if (!outcomes.includes(result?.outcome)) continue;
    kept += `${gap.repeat(line - before - 1)}${text}\n`;
    before = line;
    if (kept.length < LONGEST_LINE) continue;
    yield Buffer.from(kept);
    kept = '';
  }
  for (const line of resultByLine.keys()) throw mismatch(line);
  if (kept !== '') yield Buffer.from(kept);
}

/** Whether an input has exactly the lines of another one that are left to send again. */
export async function isRest(
  input: AsyncIterable<Uint8Array>,
  ...of: [whole: AsyncIterable<Uint8Array>, results: AsyncIterable<ResultLine>]
): Promise<boolean> {
  const found = { bytes: 0, crc32: 0 };
  const left = { bytes: 0, crc32: 0 };
  for await (const _ of measured(input, found));
  for await (const _ of measured(failedLines(...of, 'resume'), left));
  return found.crc32 === left.crc32;
}

/** The results in the bytes of `result.jsonl`, in order. @throws RunError `StorageConflict` */
export async function* resultsIn(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<ResultLine, void> {
  for await (const { line, text } of numberedLines(bytes)) {
    const result = parseJson(resultLineSchema, text);
    if (!result)
      throw new RunError('StorageConflict', `Line ${line} of the results is not a result line of this software.`);
    yield result;
  }
}

const recordSchema = z.object({ id: z.guid() });

/** The id in a line of the input; `undefined` for a blank line. */
function idOf(text: string, line: number): string | undefined {
  if (text.trim() === '') return undefined;
  const record = parseJson(recordSchema, text);
  if (record) return record.id;
  throw new RunError('UpdateFileInvalid', `Line ${line} of the input is not a record with an id.`);
}

function mismatch(line: number): RunError {
  return new RunError('StorageConflict', `The result for line ${line} does not belong to this input.`);
}

async function* numberedLines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<{ line: number; text: string }> {
  for await (const lines of linesOf(bytes)) {
    for (const { line, bytes: text } of lines) yield { line, text: text.toString() };
  }
}
