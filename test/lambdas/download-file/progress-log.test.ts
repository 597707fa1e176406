import { expect, test } from 'vitest';
import { progressLog } from '../../../lambdas/download-file/download-file.ts';
import { recordingLog } from '../../support/deps.ts';

/** Reports progress at these seconds, one byte more each time. */
function toldAt(seconds: number[], total: number | null = 100) {
  const log = recordingLog();
  let time = 0;
  const progress = progressLog({ log, now: () => new Date(time * 1000) });
  seconds.forEach((second, index) => {
    time = second;
    progress(index + 1, total);
  });
  return log.lines;
}

test('a line says how far a file has come', () => {
  expect(toldAt([5])).toEqual([
    {
      level: 'info',
      message: 'moved',
      fields: { bytes: 1, totalBytes: 100 },
    },
  ]);
});

test('there is a line every five seconds at most, however many parts are stored', () => {
  const often = Array.from({ length: 200 }, (_, index) => index / 10);

  expect(toldAt(often).map(({ fields }) => fields.bytes)).toEqual([51, 101, 151]);
});

test('a transfer of less than five seconds has none', () => {
  expect(toldAt([0, 1, 4.9])).toEqual([]);
});

test('a size that is not known is reported as such', () => {
  expect(toldAt([7], null)[0]?.fields.totalBytes).toBe(null);
});
