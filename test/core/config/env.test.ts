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

test('the named variables are read', () => {
  expect(readEnv({ A: '1', B: '2', C: '3' }, 'A', 'B')).toEqual({ A: '1', B: '2' });
});

test('every variable that is missing or empty is named', () => {
  expect(() => readEnv({ A: '1', B: '' }, 'A', 'B', 'C')).toThrow(
    expect.objectContaining({ name: 'ConfigInvalid', message: expect.stringContaining('lacks B, C:') }),
  );
});

test('the bundled configuration is what synth had checked', () => {
  expect(readDeployment(fileWith(JSON.stringify(deployment())))).toEqual(deployment());
});

test('a bundle without its configuration is a crash, not an outcome of a run', () => {
  const read = () => readDeployment(join(tmpdir(), 'absent', 'deployment.json'));

  expect(read).toThrow(expect.objectContaining({ code: 'ENOENT' }));
});
