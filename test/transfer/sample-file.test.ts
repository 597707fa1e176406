import { afterAll, beforeAll, expect, test } from 'vitest';
import { sampleFile } from '../../transfer/source/sample-file.ts';
import { startOrigin } from '../support/origin/origin.ts';

let origin: Awaited<ReturnType<typeof startOrigin>>;
beforeAll(async () => {
  origin = await startOrigin();
});
afterAll(() => origin.stop());

const options = (mostBytes = 1_000_000) => ({
  policy: { hosts: [], local: true },
  mostBytes,
  signal: new AbortController().signal,
});

test('fetches a file with one GET, whole or up to mostBytes', async () => {
  const file = origin.file({ size: 600_000 });

  const whole = await sampleFile(file.url, options());
  const begin = await sampleFile(file.url, options(1000));

  expect(whole).toMatchObject({ whole: true, undeclaredEnd: false });
  expect(whole.bytes).toHaveLength(600_000);
  expect(begin).toMatchObject({ whole: false, bytes: whole.bytes.subarray(0, 1000) });
  expect(file.requests).toHaveLength(2);
});

test('does not repeat a failed request', async () => {
  const refusing = origin.file({ size: 5000, script: () => ({ status: 503 }) });

  await expect(sampleFile(refusing.url, options())).rejects.toThrow('The GET of the file was answered 503.');
  expect(refusing.requests).toHaveLength(1);
});

test('refuses the same addresses as a transfer', async () => {
  const listed = { ...options(), policy: { hosts: ['files.crm.example'], local: false } };

  const addresses = [
    'http://files.crm.example/x',
    'https://10.0.0.1/x',
    'https://other.example/x',
    'https://a@files.crm.example/',
  ];
  for (const address of addresses) {
    await expect(sampleFile(address, listed)).rejects.toMatchObject({ reason: 'address-rejected' });
  }
});
