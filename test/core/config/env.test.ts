import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readDeployment, readEnv } from '../../../core/aws/env.ts';
import { tree } from '../../lib/support/files.ts';
import { deployment } from '../../support/builders.ts';

test('readEnv returns the named variables', () => {
  expect(readEnv({ A: '1', B: '2', C: '3' }, 'A', 'B')).toEqual({ A: '1', B: '2' });
});

test('readEnv names every variable that is missing or empty', () => {
  expect(() => readEnv({ A: '1', B: '' }, 'A', 'B', 'C')).toThrow(
    expect.objectContaining({ name: 'ConfigInvalid', message: expect.stringContaining('lacks B, C:') }),
  );
});

test('readDeployment returns the bundled configuration', () => {
  const folder = tree({ 'deployment.json': JSON.stringify(deployment()) });
  expect(readDeployment(join(folder, 'deployment.json'))).toEqual(deployment());
});

test('readDeployment throws ENOENT, not an outcome of a run, if the bundle has no configuration', () => {
  const read = () => readDeployment(join(tmpdir(), 'absent', 'deployment.json'));

  expect(read).toThrow(expect.objectContaining({ code: 'ENOENT' }));
});
