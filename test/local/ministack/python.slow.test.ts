import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ensureEnvironment, ensureMinistack } from '../../../local/ministack/python.ts';
import { PROJECT, script, tempDir, tempRecord } from '../../support/project.ts';

const answerVersion = (version: string) => `if [ "$1 $2" = "-I -c" ]; then echo ${version} "$0"; exit 0; fi`;
test.each([
  ['no Python', {}, /No Python 3\.10 or newer was found.* Install Python 3\.10/],
  ['a Python that is too old', { python: 'exit 1' }, /No Python 3\.10 or newer was found/],
  [
    'a Python without venv',
    { python3: `${answerVersion('3.11.2')}\nexit 1` },
    /Python 3\.11\.2 .* virtual environment\. Install its venv module/,
  ],
])('a machine with %s gets an error that says what to install', async (_, pythons, sentence) => {
  const bin = await tempDir();
  for (const [name, body] of Object.entries(pythons)) await script(join(bin, name), body);
  const installed = ensureMinistack({ record: await tempRecord(), env: { PATH: bin } });
  await expect(installed).rejects.toMatchObject({
    name: 'EnvironmentError',
    message: expect.stringMatching(sentence),
  });
});

test('pip requires the pinned hashes of a file in this folder, and what it reports is in the error, with its log', async () => {
  const bin = await tempDir();
  const pip = 'echo "ERROR: called with $*"; exit 1';
  const made = `mkdir -p "$4/bin"; printf '%s\\n' '#!/bin/sh' '${pip}' > "$4/bin/python"; chmod +x "$4/bin/python"`;
  await script(join(bin, 'python3'), `${answerVersion('3.12.1')}\n${made}`);
  const env = { PATH: `${bin}:/usr/bin:/bin` };
  const scanners = { name: 'scan', requirements: 'scan/requirements.txt', what: 'the scanners' };
  await expect(ensureEnvironment(scanners, { record: await tempRecord(), env })).rejects.toMatchObject({
    message: expect.stringMatching(/^pip .* --require-hashes .* \/\S+\/scan\/requirements\.txt /),
    logFile: expect.stringContaining('pip.log'),
  });
});

const PINNED = /^([\w.-]+==[\w.]+)( ; [\w.'<>=! ]+)?(\s+--hash=sha256:[\da-f]{64})+$/;

test.each(['local/ministack', 'test', 'test/long/support/feeds'])('pins the packages of %s', async (folder) => {
  const text = await readFile(join(PROJECT, folder, 'requirements.txt'), 'utf8');
  const pins = text
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  expect(pins.length).toBeGreaterThan(5);
  expect(pins.filter((pin) => !PINNED.test(pin))).toEqual([]);
});
