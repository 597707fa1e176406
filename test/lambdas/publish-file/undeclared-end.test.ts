import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { deployment } from '../../support/builders.ts';
import { failureOf } from '../../support/failures.ts';
import { expectMessages } from '../../support/screen.ts';
import { FILE_KEY, MANIFEST_KEY, publish, SMALL_CSV, storedRun } from '../../support/stored-run.ts';
import { zipWith } from '../../support/zip.ts';

/** A run whose file arrived without a length and without chunks. */
const openEnded = (text: string | Uint8Array) => storedRun(text, { undeclaredEnd: true, chunkBytes: 7 });

test.each([
  ['Unix line breaks', SMALL_CSV],
  ['Windows line breaks', 'id,name\r\n1,a\r\n'],
  ['only a header', 'id,name\n'],
  ['empty lines after its rows', 'id,name\n1,a\n\r\n\n'],
  ['a single column with commas in its values', 'name\nCohen, Avi\n'],
])('publishes a CSV file with a whole shape, with a warning: %s', async (_, text) => {
  const { bucket, state } = openEnded(text);

  expect(await publish(bucket, state)).toMatchObject({ outcome: 'PUBLISHED' });

  const { warnings } = JSON.parse(bucket.text(MANIFEST_KEY) ?? '{}');
  expect(warnings).toContainEqual(expect.stringMatching(/only mark/));
});

const opaque = { deployment: deployment({ entities: { leads: { opaque: ['json'] } } }) };
const DOUBTED: [what: string, bytes: string | Uint8Array, given?: typeof opaque][] = [
  ['ends within its header', 'id,name'],
  ['ends within its last row', 'id,name\n1,a\n2,b'],
  ['ends between the two characters of a line break', 'id,name\r\n1,a\r'],
  ['ends after a quoted field', 'id,name\n1,"a"'],
  ['ends within its last row, in gzip', gzipSync(SMALL_CSV.trimEnd())],
  ['ends inside quotation marks', 'id,name\n1,"cut\n'],
  ['has a row that is too short', 'id,name\n1\n2,b\n'],
  ['has a row that is too long', 'id,name\n1,a,x\n'],
  ['is opaque, so that its shape cannot show its end', '{"leads":[]}', opaque],
];

test('rejects a file that may be cut', async () => {
  const doubts: [what: string, doubt: string][] = [];
  for (const [what, bytes, given] of DOUBTED) {
    const { bucket, state } = openEnded(bytes);
    const { message } = await failureOf(publish(bucket, state, given), 'FileRejected');
    doubts.push([`a file that ${what}`, message]);
    expect(bucket.keys()).toEqual([FILE_KEY]);
  }
  await expectMessages('undeclared-end', doubts);
});

test.each([
  ['gzip', gzipSync(SMALL_CSV)],
  ['a zip archive', zipWith('leads.csv', SMALL_CSV)],
])('publishes %s, whose format marks its own end', async (_, bytes) => {
  const { bucket, state } = openEnded(bytes);

  expect(await publish(bucket, state)).toMatchObject({ outcome: 'PUBLISHED', rows: 2 });
});
