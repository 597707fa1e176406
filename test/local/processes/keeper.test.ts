import { expect, test } from 'vitest';
import { openRunRecord } from '../../../local/processes/run-record.ts';
import { tempDir } from '../../support/project.ts';

test('a start that can start no process ends with one sentence and the exit code of the environment', async () => {
  // The error arrives in the same way if the machine has no process left (EAGAIN).
  await expect(openRunRecord(await tempDir(), '/missing/sh')).rejects.toMatchObject({
    name: 'EnvironmentError',
    exitCode: 3,
    message: expect.stringMatching(/\(spawn .* ENOENT\)\. /),
  });
});
