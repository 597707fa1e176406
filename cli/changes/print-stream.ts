import { ended } from '../support/ended.ts';
import { CommandError } from '../support/exit.ts';

/** Characters that are written at once. */
const PIECE = 64 * 1024;

/**
 * Prints much text on standard output, as fast as it is read there. Where nobody reads any more (`| head`), it ends without an error.
 * @param kind of a document, nothing is printed where its beginning fails
 * @throws what making the text throws; of a document that has begun a CommandError, which says that it is not whole
 */
export async function printStream(texts: AsyncIterable<string>, kind: 'lines' | 'document'): Promise<void> {
  let held = '';
  let begun = false;
  try {
    for await (const text of texts) {
      held += text;
      if (held.length < PIECE) continue;
      begun = true;
      if (!(await written(held))) return;
      held = '';
    }
  } catch (error) {
    if (kind === 'lines') await written(held);
    if (kind === 'lines' || !begun) throw error;
    const { sentence, code } = ended(error);
    throw new CommandError(`The document is not whole: ${sentence}`, code, { cause: error, documented: true });
  }
  await written(held);
}

/** @returns whether standard output took it; why not is said by whoever listens to its errors */
function written(text: string): Promise<boolean> {
  return new Promise((resolve) => process.stdout.write(text, (error) => resolve(!error)));
}
