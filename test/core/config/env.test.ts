import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readDeployment, readEnv } from '../../../core/aws/env.ts';
import { deployment } from '../../support/builders.ts';

function fileWith(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'deployment-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'deployment.json');
  writeFileSync(file, text);
  return file;
}

test('readEnv returns the named variables', () => {
  expect(readEnv({ A: '1', B: '2', C: '3' }, 'A', 'B')).toEqual({ A: '1', B: '2' });
});

test('readEnv names every variable that is missing or empty', () => {
  expect(() => readEnv({ A: '1', B: '' }, 'A', 'B', 'C')).toThrow(
    expect.objectContaining({ name: 'ConfigInvalid', message: expect.stringContaining('lacks B, C:') }),
  );
});

test('readDeployment returns the bundled configuration', () => {
  expect(readDeployment(fileWith(JSON.stringify(deployment())))).toEqual(deployment());
});

test('readDeployment throws ENOENT, not an outcome of a run, if the bundle has no configuration', () => {
  const read = () => readDeployment(join(tmpdir(), 'absent', 'deployment.json'));

  expect(read).toThrow(expect.objectContaining({ code: 'ENOENT' }));
});
