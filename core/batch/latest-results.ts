import { resultsIn } from './failed-lines.ts';
import { resultLineText } from './result-line.ts';

/**
 * The results of a batch with those of the batch that resumes it, whose lines keep their numbers: of a line that both have, the later.
 * Both are read once, side by side, in the order of lines.
 * @throws RunError `StorageConflict` when one of them is not made of result lines
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
