import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { ensureMinistack } from '../../../local/ministack/python.ts';
import { openRunRecord } from '../../../local/processes/run-record.ts';
import { CACHE, PROJECT, script, tempDir, tempRecord } from '../support/support.ts';

const run = promisify(execFile);
const answerVersion = (version: string) => `if [ "$1" = -c ]; then echo ${version} "$0"; exit 0; fi`;
/** A venv module that makes an interpreter of which pip and the check always succeed. */
const FAKE_VENV = `mkdir -p "$3/bin"; echo made >> "$FAKE_LOG"; printf '#!/bin/sh\\nexit 0\\n' > "$3/bin/python"; chmod +x "$3/bin/python"`;
const DEBIAN = `${answerVersion('3.11.2')}
exit 1`;

test.each([
  ['no Python', {}, {}, /No Python 3\.10 or newer was found.* Install Python 3\.10/],
  ['a Python that is too old', { python: 'exit 1' }, {}, /No Python 3\.10 or newer was found/],
  ['a PYTHON that does not exist', {}, { PYTHON: '/nowhere/python' }, /PYTHON names \/nowhere\/python/],
  [
    'a Python without venv',
    { python3: DEBIAN },
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

/**
 * A virtual environment of the machine's own Python with only pip, for copies: to install pip takes seconds, so it is
 * that of the local cloud's environment.
 */
let emptyVenv: string;
beforeAll(async () => {
  const dir = await mkdtemp(join(tmpdir(), 'local-test-'));
  emptyVenv = join(dir, 'venv');
  const record = await openRunRecord(CACHE);
  const { command } = await ensureMinistack({ record });
  await record.close();
  await run(process.env.PYTHON ?? 'python3', ['-m', 'venv', '--without-pip', emptyVenv]);
  const into = await sitePackages(join(emptyVenv, 'bin', 'python'));
  await cp(join(await sitePackages(command), 'pip'), join(into, 'pip'), { recursive: true });
  return () => rm(dir, { recursive: true });
}, 180_000);

async function sitePackages(python: string): Promise<string> {
  return (await run(python, ['-c', 'import sysconfig; print(sysconfig.get_path("purelib"))'])).stdout.trim();
}

test.each([
  [
    'cannot be reached',
    { PIP_INDEX_URL: 'http://127.0.0.1:9/simple', PIP_RETRIES: '1' },
    'pip could not install the local cloud: ',
  ],
  [
    'delivers another file than the pinned one',
    { PIP_NO_INDEX: '1', PIP_FIND_LINKS: 'LINKS' },
    'DO NOT MATCH THE HASHES',
  ],
])('reports a package index that %s, with the log of pip', async (_, pip, sentence) => {
  const dir = await tempDir();
  await writeFile(join(dir, 'botocore-1.43.106-py3-none-any.whl'), 'something else');
  const PYTHON = join(dir, 'python3');
  await script(PYTHON, `${answerVersion('3.12.1')}\ncp -a ${emptyVenv} "$3"`);
  const settings = Object.entries(pip).map(([name, value]) => [name, value.replace('LINKS', dir)]);
  const own = { PYTHON, PIP_NO_CACHE_DIR: '1', ...Object.fromEntries(settings) };
  const { PATH, HOME } = process.env;
  const installed = ensureMinistack({ record: await tempRecord(), env: { PATH, HOME, ...own } });
  await expect(installed).rejects.toMatchObject({
    message: expect.stringContaining(sentence),
    logFile: expect.stringContaining('python.log'),
  });
});

/** A machine with a Python that installs at once. */
async function machine() {
  const dir = await tempDir();
  await script(join(dir, 'bin', 'python3'), `${answerVersion('3.12.1')}\n${FAKE_VENV}`);
  const log = join(dir, 'made');
  const env = { PATH: `${join(dir, 'bin')}:/usr/bin:/bin`, FAKE_LOG: log };
  const cacheDir = join(dir, 'cache');
  const homes = async () => (await readdir(cacheDir)).filter((name) => name !== 'runs');
  return { env, cacheDir, homes, timesMade: async () => (await readFile(log, 'utf8')).trim().split('\n').length };
}

test('installs only once', async () => {
  const { env, cacheDir, timesMade } = await machine();
  const record = await tempRecord(cacheDir);
  const first = await ensureMinistack({ record, env });
  expect(await ensureMinistack({ record, env })).toEqual(first);
  expect(await timesMade()).toBe(1);
});

test('two simultaneous starts get the same installation', async () => {
  const { env, cacheDir, homes } = await machine();
  const records = [await tempRecord(cacheDir), await tempRecord(cacheDir)];
  const [one, two] = await Promise.all(records.map((record) => ensureMinistack({ record, env })));
  expect(one).toEqual(two);
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
