import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { ensureMinistack } from '../../../local/ministack/python.ts';
import { PROJECT, script, tempDir, tempRecord } from '../../support/project.ts';

const answerVersion = (version: string) => `if [ "$1" = -c ]; then echo ${version} "$0"; exit 0; fi`;
test.each([
  ['no Python', {}, {}, /No Python 3\.10 or newer was found.* Install Python 3\.10/],
  ['a Python that is too old', { python: 'exit 1' }, {}, /No Python 3\.10 or newer was found/],
  ['a PYTHON that does not exist', {}, { PYTHON: '/nowhere/python' }, /PYTHON names \/nowhere\/python/],
  [
    'a Python without venv',
    { python3: `${answerVersion('3.11.2')}\nexit 1` },
    {},
    /Python 3\.11\.2 .* virtual environment\. Install its venv module/,
  ],
])('a machine with %s gets an error that says what to install', async (_, pythons, env, sentence) => {
  const bin = await tempDir();
  for (const [name, body] of Object.entries(pythons)) await script(join(bin, name), body);
  const installed = ensureMinistack({ record: await tempRecord(), env: { PATH: bin, ...env } });
  await expect(installed).rejects.toMatchObject({
    name: 'EnvironmentError',
    message: expect.stringMatching(sentence),
  });
});

/** A machine with a Python whose venv module makes an interpreter that does this for pip and the check. */
async function machine(interpreter = 'exit 0') {
  const dir = await tempDir();
  const made = `mkdir -p "$3/bin"; echo made >> "$FAKE_LOG"; printf '%s\\n' '#!/bin/sh' '${interpreter}' > "$3/bin/python"`;
  await script(join(dir, 'bin', 'python3'), `${answerVersion('3.12.1')}\n${made}; chmod +x "$3/bin/python"`);
  const log = join(dir, 'made');
  const env = { PATH: `${join(dir, 'bin')}:/usr/bin:/bin`, FAKE_LOG: log };
  const cacheDir = join(dir, 'cache');
  const homes = async () => (await readdir(cacheDir)).filter((name) => name !== 'runs');
  return { env, cacheDir, homes, timesMade: async () => (await readFile(log, 'utf8')).trim().split('\n').length };
}

test('pip requires the pinned hashes, and what it reports is in the error, with its log', async () => {
  const { env, cacheDir } = await machine('echo "ERROR: called with $*"; exit 1');
  await expect(ensureMinistack({ record: await tempRecord(cacheDir), env })).rejects.toMatchObject({
    message: expect.stringMatching(/^pip .* --require-hashes /),
    logFile: expect.stringContaining('pip.log'),
  });
});

test('two simultaneous starts get the same installation, which a later start uses', async () => {
  const { env, cacheDir, homes, timesMade } = await machine();
  const records = [await tempRecord(cacheDir), await tempRecord(cacheDir)];
  const [one, two] = await Promise.all(records.map((record) => ensureMinistack({ record, env })));
  expect(one).toEqual(two);
  const made = await timesMade();
  expect(await ensureMinistack({ record: await tempRecord(cacheDir), env })).toEqual(one);
  expect(await timesMade()).toBe(made);
  expect(await homes()).toEqual([dirname(dirname(one?.command ?? '')).slice(cacheDir.length + 1)]);
});

test('leaves no half-made environment if the installation is aborted', async () => {
  const { env, cacheDir, homes } = await machine();
  const record = await tempRecord(cacheDir);
  const signal = AbortSignal.abort(new Error('enough'));
  await expect(ensureMinistack({ record, env, signal })).rejects.toThrow('enough');
  expect(await homes()).toEqual([]);
});

const PINNED = /^([\w.-]+==[\w.]+)( ; [\w.'<>=! ]+)?(\s+--hash=sha256:[\da-f]{64})+$/;

test.each(['local/ministack', 'test', 'test/long/support/feeds'])(
  'pins the packages of %s by version and hash',
  async (folder) => {
    const text = await readFile(join(PROJECT, folder, 'requirements.txt'), 'utf8');
    const pins = text
      .replaceAll('\\\n', ' ')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    expect(pins.length).toBeGreaterThan(5);
    expect(pins.filter((pin) => !PINNED.test(pin))).toEqual([]);
  },
);
