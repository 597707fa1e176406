import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { ensureMinistack } from '../../../local/ministack/python.ts';
import { EnvironmentError } from '../../../local/processes/environment-error.ts';
import { lastLines } from '../../../local/processes/processes.ts';
import { openRunRecord } from '../../../local/processes/run-record.ts';
import { CACHE, script, tempDir, tempRecord } from '../support/support.ts';

const run = promisify(execFile);
const answerVersion = (version: string) => `if [ "$1" = -c ]; then echo ${version}; echo "$0"; exit 0; fi`;
/** A venv module that makes an interpreter of which pip and the check always succeed. */
const FAKE_VENV = `mkdir -p "$3/bin"; echo made >> "$FAKE_LOG"; printf '#!/bin/sh\\nexit 0\\n' > "$3/bin/python"; chmod +x "$3/bin/python"`;

/** Installs with only the given interpreters in PATH. */
async function install(pythons: Record<string, string>, env: NodeJS.ProcessEnv = {}) {
  const bin = await tempDir();
  for (const [name, body] of Object.entries(pythons)) await script(join(bin, name), body);
  return ensureMinistack({ record: await tempRecord(), env: { PATH: bin, ...env } });
}

/**
 * A virtual environment of the machine's own Python with nothing but pip, of which the tests get copies: to install pip takes
 * seconds, so it is that of the local cloud's environment.
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

/** Installs with the machine's own Python and pip. */
async function reallyInstall(pip: NodeJS.ProcessEnv) {
  const PYTHON = join(await tempDir(), 'python3');
  await script(PYTHON, `${answerVersion('3.12.1')}\ncp -a ${emptyVenv} "$3"`);
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, PYTHON, PIP_NO_CACHE_DIR: '1', ...pip };
  return ensureMinistack({ record: await tempRecord(), env }).catch((error: unknown) => error);
}

describe('a machine on which MiniStack cannot be installed', () => {
  test('no Python', async () => {
    await expect(install({})).rejects.toThrow(EnvironmentError);
    await expect(install({})).rejects.toThrow(/No Python was found.* Install Python 3.10/);
  });

  test('a Python that is too old', async () => {
    const old = { python3: answerVersion('3.9.18'), python: answerVersion('2.7.18') };
    await expect(install(old)).rejects.toThrow(/Python 3\.9\.18 \(.*python3\) is too old/);
  });

  test('PYTHON names something else', async () => {
    const named = install({ python3: answerVersion('3.12.1') }, { PYTHON: '/nowhere/python' });
    await expect(named).rejects.toThrow(/PYTHON names \/nowhere\/python/);
  });

  test('Python without venv, as Debian has it', async () => {
    const debian = `${answerVersion('3.11.2')}
      echo 'The virtual environment was not created successfully because ensurepip is not'
      echo 'available.  On Debian/Ubuntu systems, you need to install the python3-venv'; exit 1`;
    await expect(install({ python3: debian })).rejects.toThrow(/no venv module.*apt install python3\.11-venv/);
  });

  test('no package index', async () => {
    const error = await reallyInstall({ PIP_INDEX_URL: 'http://127.0.0.1:9/simple', PIP_RETRIES: '1' });
    expect(error).toMatchObject({ name: 'EnvironmentError', message: expect.stringContaining('could not be reached') });
    expect(error).toMatchObject({ logFile: expect.stringContaining('python.log') });
  });

  test('a package other than the pinned one', async () => {
    const links = await tempDir();
    await writeFile(join(links, 'botocore-1.43.106-py3-none-any.whl'), 'something else');
    const error = await reallyInstall({ PIP_NO_INDEX: '1', PIP_FIND_LINKS: links });
    expect(error).toMatchObject({ message: expect.stringContaining('other than the pinned one') });
    const log = error instanceof EnvironmentError ? await lastLines(error.logFile ?? '', 20) : [];
    expect(log.join('\n')).toContain('DO NOT MATCH THE HASHES');
  });
});

describe('the installation', () => {
  async function machine() {
    const dir = await tempDir();
    await script(join(dir, 'bin', 'python3'), `${answerVersion('3.12.1')}\n${FAKE_VENV}`);
    const log = join(dir, 'made');
    const env = { PATH: `${join(dir, 'bin')}:/usr/bin:/bin`, FAKE_LOG: log };
    const timesMade = async () => (await readFile(log, 'utf8')).trim().split('\n').length;
    return { env, cacheDir: join(dir, 'cache'), timesMade };
  }

  test('happens once', async () => {
    const { env, cacheDir, timesMade } = await machine();
    const record = await tempRecord(cacheDir);
    const steps: string[] = [];
    const first = await ensureMinistack({ record, env, onProgress: (step) => steps.push(step) });
    expect(steps).toEqual(['Making a virtual environment with Python 3.12.1']);
    expect(await ensureMinistack({ record, env })).toEqual(first);
    expect(await timesMade()).toBe(1);
  });

  test('two starts at once get one and the same', async () => {
    const { env, cacheDir } = await machine();
    const records = [await tempRecord(cacheDir), await tempRecord(cacheDir)];
    const [one, two] = await Promise.all(records.map((record) => ensureMinistack({ record, env })));
    expect(one).toEqual(two);
    const left = (await readdir(cacheDir)).filter((name) => name !== 'runs');
    expect(left).toEqual([dirname(dirname(one?.command ?? '')).slice(cacheDir.length + 1)]);
  });

  test('that is aborted leaves nothing half-made', async () => {
    const { env, cacheDir } = await machine();
    const record = await tempRecord(cacheDir);
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(ensureMinistack({ record, env, signal })).rejects.toThrow('enough');
    expect((await readdir(cacheDir)).filter((name) => name !== 'runs')).toEqual([]);
  });
});

const ROOT = join(import.meta.dirname, '..', '..', '..');
const MARKER = /( ; [\w.'<>=! ]+)?/;
const PINNED = new RegExp(`^[\\w.-]+==[\\w.]+${MARKER.source}(\\s+--hash=sha256:[\\da-f]{64})+$`);

async function requirementsOf(file: string): Promise<string[]> {
  const text = await readFile(join(ROOT, file), 'utf8');
  const lines = text.replaceAll('\\\n', ' ').split('\n');
  return lines.filter((line) => line !== '' && !line.startsWith('#'));
}

describe('the requirements', () => {
  test.each([
    ['local/ministack/requirements.txt', 15],
    ['test/requirements.txt', 15],
    ['test/long/support/feeds/requirements.txt', 5],
  ])(
    '%s: each is pinned by version and hash, and nothing of the machine that made the file is in it',
    async (file, least) => {
      const requirements = await requirementsOf(file);
      expect(requirements.length).toBeGreaterThan(least);
      for (const line of requirements) expect(line).toMatch(PINNED);
    },
  );

  test('of the tests are added to those of the local cloud, and change none of them', async () => {
    const nameAndVersion = (line: string) => line.split(' ')[0]?.split('==') ?? [];
    const ours = new Map(
      (await requirementsOf('local/ministack/requirements.txt')).map(
        (line) => nameAndVersion(line) as [string, string],
      ),
    );
    const shared = (await requirementsOf('test/requirements.txt'))
      .map(nameAndVersion)
      .filter(([name = '']) => ours.has(name));

    expect(shared.length).toBeGreaterThan(3);
    for (const [name = '', version] of shared) expect([name, ours.get(name)]).toEqual([name, version]);
  });
});
