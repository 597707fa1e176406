import { RunError } from '../errors.ts';
import { type ResultLine, resultLineSchema } from './result-line.ts';

/** How the last line of an object of results begins where its writer left lines in doubt (`chunk-parts.ts`). It is no result. */
export const DOUBT = '{"doubt":';

/** @throws RunError `StorageConflict` when the text is not made of result lines; nothing of it is quoted. */
export function parseResults(text: string): ResultLine[] {
  try {
    return text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith(DOUBT))
      .map((line) => resultLineSchema.parse(JSON.parse(line)));
  } catch {
    throw new RunError('StorageConflict', 'An object among the results of a chunk is not made of result lines.');
  }
}
