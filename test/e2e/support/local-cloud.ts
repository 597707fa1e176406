import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { TestProject } from 'vitest/node';
import { quoted } from '../../../cli/support/command-options.ts';
import { ALL_FUNCTIONS, folderOf } from '../../../core/step/steps.ts';
import { bundleAhead, bundleOfStep } from '../../../lib/workflow/step-bundles.ts';
import { bootstrap } from '../../../local/cdk.ts';
import { COMPILE_CACHE } from '../../../local/compile-cache.ts';
import { startMinistack } from '../../../local/ministack/ministack.ts';
import { ensureMinistack } from '../../../local/ministack/python.ts';
import { openRunRecord } from '../../../local/processes/run-record.ts';
import type { LocalCloud } from './deployed.ts';

const ROOT = join(import.meta.dirname, '../../..');
/** The folder in which this test run records the functions' calls, the same for all files. */
const CALLS_DIR = process.env.RECORDED_CALLS ?? join(ROOT, '.cache/calls', String(process.pid));
/** The compiled code of each function, in a folder of its name. */
const COMPILED = join(COMPILE_CACHE, 'functions');

/**
 * The script of the functions' `node`. MiniStack starts it with DIRECTORY-FUNCTION-RANDOM/_worker.js. Node keeps compiled code by
 * the path from its cache, so a link beside the code makes all processes of a function find the same. Any other program,
 * such as the CDK app, starts without a link.
 */
const script = (recorder: string) => `#!/bin/sh
case "$1" in
*/_worker.js)
  dir=\${1%/*}
  name=\${dir%-*}
  ln -s ${quoted(`${COMPILED}/`)}"\${name##*-}" "$dir/compiled" 2>/dev/null
  export NODE_COMPILE_CACHE="$dir/compiled" NODE_COMPILE_CACHE_PORTABLE=1
  ;;
esac
exec ${quoted(process.execPath)} ${quoted(`--import=${pathToFileURL(recorder)}`)} "$@"
`;

declare module 'vitest' {
  interface ProvidedContext {
    cloud: LocalCloud;
  }
}

/**
 * Starts the local cloud once, prepared for CDK. Waits of machines take no time (`SFN_WAIT_SCALE` 0), so the number of
 * status requests in the sandbox determines the pace of a run.
 */
export default async function start(project: TestProject): Promise<() => Promise<void>> {
  const record = await openRunRecord(join(ROOT, '.cache'));
  try {
    const command = await ensureMinistack({ record });
    const options = { ...command, record, nodeBin: await recordingNode(), settings: { SFN_WAIT_SCALE: '0' } };
    const [ministack, bundles] = await Promise.all([startMinistack(options), bundled(join(record.workDir, 'bundles'))]);
    await bootstrap(ministack.endpoint);
    const { endpoint, env, pid, logFile } = ministack;
    project.provide('cloud', { endpoint, env, pid, logFile, bundles });
    return () => record.close();
  } catch (error) {
    await record.close();
    throw error;
  }
}

/** Bundles the functions once for all processes of a test run. @returns the folder */
async function bundled(folder: string): Promise<string> {
  await bundleAhead();
  for (const step of ALL_FUNCTIONS) {
    await mkdir(join(folder, folderOf(step)), { recursive: true });
    for (const { path, contents } of bundleOfStep(step))
      await writeFile(join(folder, folderOf(step), basename(path)), contents);
  }
  return folder;
}

/**
 * Creates a directory with a `node` that loads record-calls.ts before a function's code. So the functions' variables,
 * including NODE_OPTIONS, stay as in the template.
 */
async function recordingNode(): Promise<string> {
  await forgetEarlierRuns();
  const dir = join(CALLS_DIR, randomUUID());
  await mkdir(dir, { recursive: true });
  for (const name of ALL_FUNCTIONS) await mkdir(join(COMPILED, name), { recursive: true });
  const source = await readFile(join(import.meta.dirname, 'record-calls.ts'), 'utf8');
  const recorder = join(dir, 'record-calls.mjs');
  await writeFile(recorder, stripTypeScriptTypes(source));
  const node = join(dir, 'node');
  await writeFile(node, script(recorder), { mode: 0o755 });
  return dir;
}

/** Removes the folders of earlier runs. vitest.config.ts names a run's folder after its process. */
async function forgetEarlierRuns(): Promise<void> {
  const all = dirname(CALLS_DIR);
  const runs = await readdir(all).catch(() => []);
  const over = runs.filter((name) => /^\d+$/.test(name) && !isAlive(Number(name)));
  await Promise.all(over.map((name) => rm(join(all, name), { recursive: true, force: true })));
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
