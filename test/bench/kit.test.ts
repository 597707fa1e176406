import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

function run(...args: string[]) {
  const file = join(import.meta.dirname, 'fixtures', 'three-experiments.ts');
  const { status, stdout, stderr } = spawnSync(process.execPath, [file, ...args], { encoding: 'utf8' });
  return { status, stdout, stderr };
}

it('an experiment that fails is reported and takes no other with it', () => {
  const { status, stdout, stderr } = run('--json', '--quick');

  const found = {
    runs: [{ what: 'one', quick: 'true' }],
    targets: [{ id: 'one', aim: '<= 2', measured: 1, met: true }],
  };
  expect(
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual([
    { what: 'First', ...found },
    { what: 'Third', ...found },
  ]);
  expect(stderr).toContain('it is broken');
  expect(status).toBe(1);
});

it('only the experiments that are named are done, and a person gets tables', () => {
  const { status, stdout, stderr } = run('--only', 'B');

  expect(stdout).toMatch(/what +quick\n +one +false/);
  expect(stdout).toMatch(/target +aim +measured +met\n +one +<= 2 +1 +yes/);
  expect(stderr).not.toContain('Third');
  expect(status).toBe(0);
});
