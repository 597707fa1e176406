import * as z from 'zod';
import { RunError, type RunErrorName } from '../errors.ts';
import { parseJson } from '../json.ts';
import { LONGEST_LINE, lineBlocks, linesIn } from '../updates/line-blocks.ts';
import { DOUBT, type LineOutcome, type ResultLine, resultLineSchema, resultLineText } from './batch-results.ts';

/** Outcomes of lines to correct or to send again: all except APPLIED. */
export const NOT_APPLIED: readonly (LineOutcome | undefined)[] = [
  'REJECTED',
  'FAILED',
  'UNKNOWN',
  'NOT_SENT',
  undefined,
];
/** Outcomes of lines to send again unchanged: rejected lines would be rejected again. */
export const TO_RESUME: readonly (LineOutcome | undefined)[] = ['FAILED', 'UNKNOWN', 'NOT_SENT', undefined];

interface FailedLinesOptions {
  outcomes?: readonly (LineOutcome | undefined)[];
  /** Whether empty lines replace the other lines, so that line numbers stay. */
  inPlace?: boolean;
}

/**
 * The lines of an input with one of the given outcomes (`undefined`: no result), byte for byte, as a new input. Both
 * files are read once, in parallel.
 *
 * @param results `result.jsonl`, or the concatenated results of chunks
 * @throws RunError `StorageConflict` if the results belong to another input or are not in order
 */
export async function* failedLines(
  input: AsyncIterable<Uint8Array>,
  results: AsyncIterable<Uint8Array>,
  { outcomes = NOT_APPLIED, inPlace = false }: FailedLinesOptions = {},
): AsyncGenerator<Uint8Array> {
  let kept = '';
  let before = 0;
  for await (const { line, text } of linesWith(outcomes, input, resultsIn(results))) {
    kept += `${inPlace ? '\n'.repeat(line - before - 1) : ''}${text}\n`;
    before = line;
    if (kept.length < LONGEST_LINE) continue;
    yield Buffer.from(kept);
    kept = '';
  }
  if (kept !== '') yield Buffer.from(kept);
}

async function* linesWith(
  outcomes: readonly (LineOutcome | undefined)[],
  input: AsyncIterable<Uint8Array>,
  results: AsyncGenerator<ResultLine, void>,
): AsyncGenerator<{ line: number; text: string }> {
  try {
    let next = await results.next();
    for await (const { line, text } of numberedLines(input, 'FileRejected')) {
      const id = idOf(text, line);
      if (id === undefined) continue;
      const result = resultOf(line, id, next);
      if (result) next = await results.next();
      if (outcomes.includes(result?.outcome)) yield { line, text };
    }
    if (!next.done) throw mismatch(next.value);
  } finally {
    await results.return();
  }
}

function resultOf(line: number, id: string, { value }: IteratorResult<ResultLine, void>): ResultLine | undefined {
  if (!value || value.line > line) return undefined;
  if (value.line < line || value.id.toLowerCase() !== id.toLowerCase()) throw mismatch(value);
  return value;
}

/** The results in the bytes of one or more result files, in order. @throws RunError `StorageConflict` */
export async function* resultsIn(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<ResultLine, void> {
  for await (const { line, text } of numberedLines(bytes, 'StorageConflict')) {
    // Lines in doubt have no result here. A later part may have it.
    if (text.startsWith(DOUBT)) continue;
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
  throw new RunError('FileRejected', `Line ${line} of the input is not a record with an id.`);
}

function mismatch({ line }: ResultLine): RunError {
  return new RunError('StorageConflict', `The result for line ${line} does not belong to this input.`);
}

async function* numberedLines(
  bytes: AsyncIterable<Uint8Array>,
  ifTooLong: RunErrorName,
): AsyncGenerator<{ line: number; text: string }> {
  let line = 0;
  for await (const block of lineBlocks(bytes)) {
    if (block.tooLong) throw new RunError(ifTooLong, `Line ${line + 1} is longer than any valid line.`);
    for (const text of linesIn(block)) {
      line += 1;
      yield { line, text };
    }
  }
}

/**
 * Merges the results of a batch and of the batch that resumes it, whose lines keep their numbers. If both have a
 * result for a line, the later one counts. Both are read once, in parallel.
 * @throws RunError `StorageConflict` if one of them has lines that are not result lines
 */
export async function* latestResults(
  first: AsyncIterable<Uint8Array>,
  later: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const newer = resultsIn(later);
  try {
    let next = await newer.next();
    for await (const result of resultsIn(first)) {
      for (; next.value && next.value.line < result.line; next = await newer.next()) yield bytesOf(next.value);
      const again = next.value?.line === result.line ? next.value : undefined;
      yield bytesOf(again ?? result);
      if (again) next = await newer.next();
    }
    for (; next.value; next = await newer.next()) yield bytesOf(next.value);
  } finally {
    await newer.return();
  }
}

const bytesOf = (result: Parameters<typeof resultLineText>[0]) => Buffer.from(resultLineText(result));
