import { expect, test } from 'vitest';
import { progressLog } from '../../../lambdas/download-file/download-file.ts';
import { recordingLog } from '../../support/deps.ts';

test.each<[what: string, seconds: number[], bytes: number[]]>([
  ['reports the bytes so far', [5], [1]],
  ['is written at most every five seconds', Array.from({ length: 200 }, (_, index) => index / 10), [51, 101, 151]],
  ['is not written for a transfer under five seconds', [0, 1, 4.9], []],
])('a progress line %s', (_, seconds, bytes) => {
  const log = recordingLog();
  let time = 0;
  const progress = progressLog({ log, now: () => new Date(time * 1000) });

  for (const [index, second] of seconds.entries()) {
    time = second;
    progress(index + 1, null);
  }

  expect(log.lines).toEqual(
    bytes.map((each) => ({ level: 'info', message: 'moved', fields: { bytes: each, totalBytes: null } })),
  );
});
