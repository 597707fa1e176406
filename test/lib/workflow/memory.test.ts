import { expect, test } from 'vitest';
import { exampleDeployment, tableDeployment } from '../../../scripts/deployments.ts';
import { warningsOf } from '../support/warnings.ts';

const withMemory = (megabytes: number) => {
  const files = { memoryMB: { download: megabytes, publish: megabytes } };
  return exampleDeployment({ files, tableMemoryMB: megabytes });
};

test('synthesis warns of memory that a new account refuses, with the setting', () => {
  expect(warningsOf(withMemory(3008))).toEqual([]);
  expect(warningsOf(withMemory(3009))).toEqual([
    expect.stringMatching(/^files\.memoryMB\.download is 3009: .* or set 3008 at most\./),
    expect.stringMatching(/^files\.memoryMB\.publish is 3009: /),
  ]);
});

test('synthesis warns of the memory of WriteTable if an entity has tables', () => {
  const deployment = { ...tableDeployment(), tableMemoryMB: 10_240 };

  expect(warningsOf(deployment)).toEqual([expect.stringMatching(/^tableMemoryMB is 10240: /)]);
});
