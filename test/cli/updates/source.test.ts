import { appendFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { checkUpdates, openUpdateFile } from '../../../cli/updates/update-source.ts';
import { tempDir } from '../../local/support/support.ts';

const LINES = `{"id":"3f2504e0-4f89-41d3-9a0c-000000000001","city":"Haifa"}\n`;

async function sourceOf(content: string) {
  const file = join(await tempDir(), 'customers.jsonl');
  await writeFile(file, content);
  const source = await openUpdateFile(file);
  onTestFinished(() => source.close());
  return { file, source };
}

test('a file is read from its first byte on, as often as wanted', async () => {
  const { source } = await sourceOf(`${' '.repeat(700_000)}\n${LINES}`);
  for (let time = 0; time < 2; time += 1) {
    expect(await checkUpdates(source, () => undefined)).toMatchObject({ records: 1, lines: 2 });
  }
});

test('a file that grows while it is read is refused, whatever is in it then', async () => {
  const { file, source } = await sourceOf(`${' '.repeat(700_000)}\n${LINES}`);
  const reading = source.open()[Symbol.asyncIterator]();
  expect((await reading.next()).value).toHaveLength(64 * 1024);
  await appendFile(file, 'half a li');
  await expect(reading.next()).rejects.toMatchObject({
    name: 'CommandError',
    exitCode: 2,
    message: `${file} changed while it was read: wait until it is complete. Nothing was sent.`,
  });
});

test('a file that is written over with as many bytes is refused, too', async () => {
  const { file, source } = await sourceOf(LINES);
  await writeFile(file, LINES.replace('Haifa', 'Jaffa'));
  await expect(checkUpdates(source, () => undefined)).rejects.toThrow('changed while it was read');
});
