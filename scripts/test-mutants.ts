import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as z from 'zod';

/** Removes the lines that guard invariants of tokens, one at a time, in a copy: a test must fail. Else it ends with code 1. */

const ROOT = join(import.meta.dirname, '..');
const SOURCES = ['lambdas', 'core', 'transfer', 'cli', 'lib', 'local', 'sandbox', 'test'];
const COPIED = [...SOURCES, 'package.json', 'vitest.config.ts', 'tsconfig.json'];
const WORKERS = 2;
const TIMEOUT_MS = 90_000;

const mutantsSchema = z.array(
  z.object({
    invariant: z.string(),
    loses: z.string(),
    file: z.string(),
    find: z.string(),
    replace: z.string(),
    test: z.object({ file: z.string(), name: z.string() }),
  }),
);
type Mutant = z.infer<typeof mutantsSchema>[number];
const reportSchema = z.object({ numFailedTests: z.int(), numPassedTests: z.int() });

async function readMutants(): Promise<Mutant[]> {
  const list = pathToFileURL(join(ROOT, 'test/mutants/mutants.ts')).href;
  const { MUTANTS } = (await import(list)) as { MUTANTS: unknown };
  return mutantsSchema.parse(MUTANTS);
}

function makeCopy(): string {
  const copy = mkdtempSync(join(tmpdir(), 'crm-export-mutants-'));
  for (const name of COPIED) cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

/** How many of the tests of that name failed, and how many passed. */
async function runTests(copy: string, { file, name }: Mutant['test']) {
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
  const report = join(copy, 'report.json');
  rmSync(report, { force: true });
  const options = ['--project', 'unit', '--testTimeout', '10000', '--reporter', 'json', '--outputFile', report];
  const args = [vitest, 'run', ...options, '-t', name, file];
  await new Promise<void>((ended) => {
    execFile(process.execPath, args, { cwd: copy, timeout: TIMEOUT_MS, killSignal: 'SIGKILL' }, () => ended());
  });
  try {
    return reportSchema.parse(JSON.parse(readFileSync(report, 'utf8')));
  } catch {
    return { numFailedTests: 0, numPassedTests: 0 };
  }
}

/** What is wrong with a mutant; `undefined` when its test is green without it and red with it. */
async function survival(copy: string, mutant: Mutant): Promise<string | undefined> {
  const file = join(copy, mutant.file);
  const text = readFileSync(file, 'utf8');
  const parts = text.split(mutant.find);
  if (parts.length !== 2) return `its line occurs in ${mutant.file} ${parts.length - 1} times`;
  const green = await runTests(copy, mutant.test);
  if (green.numFailedTests > 0 || green.numPassedTests === 0) return 'its test is not green as it is';
  writeFileSync(file, parts.join(mutant.replace));
  const red = await runTests(copy, mutant.test);
  writeFileSync(file, text);
  return red.numFailedTests > 0 ? undefined : 'it survives';
}

async function main(): Promise<number> {
  const waiting = await readMutants();
  let survivors = 0;
  const worker = async () => {
    const copy = makeCopy();
    for (let mutant = waiting.shift(); mutant; mutant = waiting.shift()) {
      const wrong = await survival(copy, mutant);
      if (wrong) survivors += 1;
      const { invariant, loses, test } = mutant;
      process.stdout.write(
        `${wrong ? 'RED ' : 'ok  '} ${invariant} without ${loses}: ${wrong ?? `"${test.name}" is red`}\n`,
      );
    }
    rmSync(copy, { recursive: true, force: true });
  };
  await Promise.all(Array.from({ length: WORKERS }, worker));
  process.stdout.write(survivors === 0 ? 'No mutant survives.\n' : `${survivors} to look at.\n`);
  return survivors === 0 ? 0 : 1;
}

process.exitCode = await main();
