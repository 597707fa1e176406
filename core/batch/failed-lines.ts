import * as z from 'zod';
import { RunError } from '../errors.ts';
import { parseJson } from '../json.ts';
import { LONGEST_LINE, lineBlocks } from '../updates/line-blocks.ts';
import { DOUBT, type Outcome, type ResultLine, resultLineSchema } from './result-line.ts';

/** Lines to correct or to send again: all that are not known to be applied. */
export const NOT_APPLIED: readonly (Outcome | undefined)[] = ['REJECTED', 'FAILED', 'UNKNOWN', 'NOT_SENT', undefined];
/** Lines to send again unchanged: rejected ones would be refused again. */
export const TO_RESUME: readonly (Outcome | undefined)[] = ['FAILED', 'UNKNOWN', 'NOT_SENT', undefined];

/**
 * The lines of an input that ended in one of the given outcomes (`undefined`: that have no result), byte for byte, as a new
 * input. Both files are read once, side by side: lines stand in order in both.
 *
 * @param results `result.jsonl`, or the results of chunks one behind the other.
 * @throws RunError `StorageConflict` when the results are of another input, or not in order.
 */
export async function* failedLines(
  input: AsyncIterable<Uint8Array>,
  results: AsyncIterable<Uint8Array>,
  outcomes: readonly (Outcome | undefined)[] = NOT_APPLIED,
): AsyncGenerator<Uint8Array> {
  const reading = new Results(results);
  try {
    let kept: string[] = [];
    let size = 0;
    for await (const { line, text } of linesOf(input)) {
      const id = idOf(text, line);
      if (id === undefined) continue;
      const result = await reading.of(line, id);
      if (!outcomes.includes(result?.outcome)) continue;
      kept.push(text, '\n');
      size += text.length;
      if (size < LONGEST_LINE) continue;
      yield Buffer.from(kept.join(''));
      [kept, size] = [[], 0];
    }
    await reading.end();
    if (kept.length > 0) yield Buffer.from(kept.join(''));
  } finally {
    await reading.close();
  }
}

/** Results, handed out by line. */
class Results {
  readonly #lines: AsyncGenerator<{ line: number; text: string }, void>;
  #next: ResultLine | undefined;
  #begun = false;

  constructor(bytes: AsyncIterable<Uint8Array>) {
    this.#lines = linesOf(bytes);
  }

  async of(line: number, id: string): Promise<ResultLine | undefined> {
    if (!this.#begun) await this.#advance();
    const result = this.#next;
    if (!result || result.line > line) return undefined;
    if (result.line < line || result.id.toLowerCase() !== id.toLowerCase()) throw mismatch(result.line);
    await this.#advance();
    return result;
  }

  async end(): Promise<void> {
    if (!this.#begun) await this.#advance();
    if (this.#next) throw mismatch(this.#next.line);
  }

  async close(): Promise<void> {
    await this.#lines.return();
  }

  async #advance(): Promise<void> {
    this.#begun = true;
    let { value, done } = await this.#lines.next();
    // A function left lines in doubt: they have no result, or one in a later part.
    while (value?.text.startsWith(DOUBT)) ({ value, done } = await this.#lines.next());
    this.#next = done || !value ? undefined : resultOf(value.text, value.line);
  }
}

function resultOf(text: string, line: number): ResultLine {
  const result = parseJson(resultLineSchema, text);
  if (result) return result;
  throw new RunError('StorageConflict', `Line ${line} of the results is no result line of this software.`);
}

const recordSchema = z.object({ id: z.guid() });

/** @returns `undefined` for a line without a record. */
function idOf(text: string, line: number): string | undefined {
  if (text.trim() === '') return undefined;
  const record = parseJson(recordSchema, text);
  if (record) return record.id;
  throw new RunError('FileRejected', `Line ${line} of the input is no record with an id.`);
}

function mismatch(line: number): RunError {
  return new RunError('StorageConflict', `The result for line ${line} does not belong to this input.`);
}

async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<{ line: number; text: string }, void> {
  let line = 0;
  for await (const block of lineBlocks(bytes)) {
    if (block.tooLong) throw new RunError('FileRejected', `Line ${line + 1} is longer than any valid line.`);
    const whole = block.bytes.toString('utf8');
    const texts = (block.from === 0 ? whole.replace(/^\uFEFF/, '') : whole).split('\n');
    if (texts.at(-1) === '') texts.pop();
    for (const text of texts) {
      line += 1;
      yield { line, text };
    }
  }
}
