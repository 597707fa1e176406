import { globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

/** zizmor and actionlint, which `npm run scan` runs, find what else is wrong with a workflow. */
const files = globSync('.github/workflows/*');
const textOf = (file: string) => readFileSync(file, 'utf8');

/** The text of each job of a workflow, by the name below `jobs:`. */
function jobsOf(text: string): string[] {
  const jobs = text.split(/^jobs:\n/m)[1] ?? '';
  return jobs.split(/^ {2}(?=[\w-]+:$)/m).filter((job) => job.trim() !== '');
}

test('there is a workflow, and every workflow file ends in .yml', () => {
  expect(files.length).toBeGreaterThan(0);
  expect(files.filter((file) => !file.endsWith('.yml'))).toEqual([]);
});

describe.each(files)('%s', (file) => {
  const text = textOf(file);

  test('pins every action by its full commit hash, with its version', () => {
    const uses = text.split('\n').filter((line) => /\buses:/.test(line));

    expect(uses.length).toBeGreaterThan(0);
    expect(uses.filter((line) => !/uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([]);
  });

  test('has no permissions by default, and jobs that run code of the project may only read', () => {
    expect(text).toMatch(/^permissions: \{\}$/m);
    for (const job of jobsOf(text)) {
      const may = /^ {4}permissions:\n {6}contents: (read|write)(?: #.*)?\n {4}\S/m.exec(job)?.[1];
      expect(may).toBe(/checkout@|npm |node /.test(job) ? 'read' : 'write');
    }
    expect(text.match(/: write\b|write-all/g) ?? []).toHaveLength(file.endsWith('release.yml') ? 1 : 0);
  });

  test('cancels runs that a later push replaced, except a release, and limits the time of every job', () => {
    const release = file.endsWith('release.yml');
    expect(/^concurrency:\n(?: {2}.*\n)* {2}cancel-in-progress: (\w+)$/m.exec(text)?.[1]).toBe(String(!release));
    for (const job of jobsOf(text)) expect(job).toMatch(/^ {4}timeout-minutes: \d+$/m);
  });
});

test('ci.yml runs .ci/run, and lists Linux on x64 and arm64, and macOS', () => {
  const [check = ''] = jobsOf(textOf('.github/workflows/ci.yml'));

  expect(check).toMatch(/^ {6}- run: \.ci\/run$/m);
  expect(check).toContain(`'["ubuntu-24.04", "ubuntu-24.04-arm", "macos-15"]'`);
});
