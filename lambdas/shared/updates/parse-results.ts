import { RunError } from '../errors.ts';
import { type ResultLine, resultLineSchema } from './result-line.ts';

/** @throws RunError `StorageConflict` when the text is not made of result lines; nothing of it is quoted. */
export function parseResults(text: string): ResultLine[] {
  try {
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => resultLineSchema.parse(JSON.parse(line)));
  } catch {
    throw new RunError('StorageConflict', 'An object among the results of a chunk is not made of result lines.');
  }
}
